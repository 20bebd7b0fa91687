import { expect, it } from "vitest";
import {
  allowedCalls,
  CALL_GRAPH,
  CONSOLE_CALLS,
  componentsWithInternetRule,
  externalEgressPorts,
  INTERNET_COMPONENTS,
  TRIAL_CALLS,
} from "./assertions/call-graph.ts";
import { componentOf, type Manifest, ofKind, workloads } from "./manifest.ts";
import { listValuesNames, renderChart } from "./render.ts";

const names = await listValuesNames();

/** Returns the environment variables of a component's containers. */
function environmentOf(manifests: readonly Manifest[], component: string): Record<string, string | undefined> {
  const pods = workloads(manifests).filter(({ labels }) => componentOf(labels) === component);
  const entries = pods.flatMap(({ pod }) => pod.containers.flatMap(({ env = [] }) => env));
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]));
}

it.each(names.filter((name) => name !== "everything-off"))(
  "with %s values, allows exactly the calls of the call graph, and only conversation and llm-proxy have an egress rule for 0.0.0.0/0",
  async (name) => {
    const { manifests } = await renderChart(name);
    const additional: Record<string, readonly string[]> = { console: CONSOLE_CALLS, trial: TRIAL_CALLS };
    const calls = CALL_GRAPH.union(new Set(additional[name]));
    expect(allowedCalls(manifests)).toEqual({ egress: calls, ingress: calls });
    expect(componentsWithInternetRule(manifests)).toEqual(INTERNET_COMPONENTS);
  },
);

it("allows egress from each component only to the external ports that it needs", async () => {
  const { manifests } = await renderChart("gateway-api");
  expect(externalEgressPorts(manifests, "edge")).toEqual(new Set([6379, 8443]));
  expect(externalEgressPorts(manifests, "conversation")).toEqual(new Set([443, 5432]));
  expect(externalEgressPorts(manifests, "quota")).toEqual(new Set([5432]));
  expect(externalEgressPorts(manifests, "llm-proxy")).toEqual(new Set([443, 5432, 11434]));
  expect(externalEgressPorts(manifests, "cli")).toEqual(new Set());
  expect(externalEgressPorts(manifests, "migrations")).toEqual(new Set([5432]));
});

it("gives conversation, quota and llm-proxy JWT settings and egress to the identity provider only if `sso.roleClaim` is set", async () => {
  const withRoles = await renderChart("gateway-api", ["sso.roleClaim=roles", "sso.ownerRoles={parley-owner,admin}"]);
  const without = await renderChart("gateway-api");
  for (const name of ["conversation", "quota", "llm-proxy"]) {
    expect(externalEgressPorts(withRoles.manifests, name), name).toContain(8443);
    expect(externalEgressPorts(without.manifests, name), name).not.toContain(8443);
    const env = environmentOf(withRoles.manifests, name);
    expect(env).toMatchObject({
      JWT_ROLE_CLAIM: "roles",
      JWT_OWNER_ROLES: "parley-owner,admin",
      JWT_VIEWER_ROLES: "",
    });
    expect(env.JWKS_URL, name).toContain(":8443/");
    expect(environmentOf(without.manifests, name)).not.toHaveProperty("JWKS_URL");
  }
});

it("allows egress to the trace collector from edge, conversation, quota and llm-proxy, but not from cli and migrations", async () => {
  const { manifests } = await renderChart("production");
  for (const name of ["edge", "conversation", "quota", "llm-proxy"])
    expect(externalEgressPorts(manifests, name), name).toContain(4318);
  for (const name of ["cli", "migrations"]) expect(externalEgressPorts(manifests, name), name).not.toContain(4318);
});

it("has a network policy with the name of each workload", async () => {
  const { manifests } = await renderChart("minimal");
  const policyNames = ofKind(manifests, "NetworkPolicy").map(({ metadata }) => metadata.name);
  expect(new Set(policyNames)).toEqual(new Set(workloads(manifests).map(({ manifest }) => manifest.metadata.name)));
});

it("exposes only the public port on the load balancer, preserves client addresses and sets the values' annotations", async () => {
  const { manifests } = await renderChart("single-namespace-restricted");
  const [balancer] = ofKind(manifests, "Service").filter(({ spec }) => spec.type === "LoadBalancer") as [Manifest];
  expect((balancer.spec.ports as { name: string }[]).map(({ name }) => name)).toEqual(["http"]);
  expect(balancer.spec.externalTrafficPolicy).toBe("Local");
  expect(balancer.metadata.annotations).toEqual({ "service.beta.kubernetes.io/aws-load-balancer-type": "external" });
});

it("attaches the HTTPRoute to the values' Gateway, and turns the request timeout off for streams and exports", async () => {
  const [route] = ofKind((await renderChart("gateway-api")).manifests, "HTTPRoute") as [Manifest];
  type RouteRule = { matches: { path: { value: string } }[]; timeouts?: object };
  const rules = (route.spec.rules as RouteRule[]).map(({ matches, timeouts }) => ({
    paths: matches.map(({ path }) => path.value),
    timeouts,
  }));
  expect(route.spec.parentRefs).toEqual([{ name: "public", namespace: "gateways", sectionName: "https" }]);
  expect(rules).toEqual([
    { paths: ["/api/chat", "/api/doctor", "/api/conversations"], timeouts: { request: "0s" } },
    { paths: ["/"], timeouts: undefined },
  ]);
});
