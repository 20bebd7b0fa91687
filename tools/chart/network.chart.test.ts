import { EgressPolicy } from "@parley/service-kit";
import { describe, expect, it } from "vitest";
import {
  allowedCalls,
  CALL_GRAPH,
  CONSOLE_CALLS,
  componentsWithInternetRule,
  createBlockList,
  egressBlocks,
  externalEgressPorts,
  INTERNET_COMPONENTS,
  permitsEgress,
  TRIAL_CALLS,
} from "./assertions/call-graph.ts";
import { componentOf, type Manifest, ofKind, workloads } from "./manifest.ts";
import { listValuesNames, renderChart, runHelmTemplate } from "./render.ts";

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
  expect(externalEgressPorts(manifests, "migrations")).toEqual(new Set([5432, 6379, 8443]));
  expect(externalEgressPorts(manifests, "preflight")).toEqual(new Set([6379, 8443]));
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
      JWT_AGENT_ROLES: "",
      JWT_VIEWER_ROLES: "",
    });
    expect(env.JWKS_URL, name).toContain(":8443/");
    expect(environmentOf(without.manifests, name)).not.toHaveProperty("JWKS_URL");
  }
});

/** An address in each range that is not public, and addresses that belong to clouds' internal services. */
const INTERNAL_ADDRESSES = [
  ...["10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "168.63.129.16"],
  ...["192.0.0.192", "198.18.0.1", "0.0.0.1", "224.0.0.1", "240.0.0.1", "fd00:ec2::254", "fe80::1", "::1", "2002::1"],
];
const PUBLIC_ADDRESSES = ["93.184.215.14", "2606:4700:4700::1111"];

describe("the egress rules of conversation and llm-proxy, which request the URLs of users", () => {
  /** Ports of services that a policy could open at any address. */
  const PORTS = [80, 443, 3128, 4317, 4318, 6379, 6443, 8080, 8443];

  it.each([
    ["minimal", []],
    ["minimal", ["sso.roleClaim=roles", "sso.ownerRoles={owner}"]],
    ["minimal", ["sso.roleClaim=roles", "sso.ownerRoles={owner}", "sso.jwksUrl=http://sso.example.com/jwks"]],
    ["gateway-api", ["sso.roleClaim=roles", "sso.viewerRoles={viewer}"]],
    ["console", []],
    ["production", []],
    ["production", ["networkPolicy.sso=null"]],
    ["minimal", ["tracing.endpoint=https://otlp.example.com"]],
    ["minimal", ["tracing.endpoint=http://otlp.example.com:4318"]],
    ["minimal", ["egressProxy=https://proxy.example.com"]],
    ["minimal", ["egressProxy=http://proxy.example.com:3128", "sso.roleClaim=roles", "sso.ownerRoles={owner}"]],
    ["minimal", ["llmProxy.providerProxy=http://proxy.example.com:8080"]],
    ["minimal", ["networkPolicy.prometheus[0].podSelector.matchLabels.app=prometheus", "podMonitor.enabled=true"]],
    ["minimal", ["edge.replicas=3", "redis.enabled=true", "redis.existingSecret=redis"]],
  ] as const)("open no port of an internal address but the database's, with %s values and %j", async (name, sets) => {
    const { manifests } = await renderChart(name, sets);
    for (const component of INTERNET_COMPONENTS)
      for (const address of INTERNAL_ADDRESSES)
        expect(
          PORTS.filter((port) => permitsEgress(manifests, component, address, port)),
          `${component} to ${address}`,
        ).toEqual([]);
  });

  it("open the ports of the identity provider, the collector and the proxies at public addresses if the values name no peers", async () => {
    const { manifests } = await renderChart("minimal", [
      "sso.roleClaim=roles",
      "sso.ownerRoles={owner}",
      "sso.jwksUrl=https://sso.example.com:8443/jwks",
      "tracing.endpoint=http://otlp.example.com:4318",
      "egressProxy=http://proxy.example.com:3128",
      "llmProxy.providerProxy=https://proxy.example.com:3129",
    ]);
    for (const address of PUBLIC_ADDRESSES) {
      for (const port of [8443, 4318, 3128])
        for (const component of INTERNET_COMPONENTS)
          expect(permitsEgress(manifests, component, address, port), `${component} to ${address}:${port}`).toBe(true);
      expect(permitsEgress(manifests, "llm-proxy", address, 3129)).toBe(true);
      expect(permitsEgress(manifests, "conversation", address, 443)).toBe(false);
    }
  });

  it.each([
    [
      "sso",
      "sso.jwksUrl",
      ["sso.roleClaim=roles", "sso.ownerRoles={owner}", "sso.jwksUrl=http://keycloak.auth.svc/jwks"],
    ],
    ["sso", "sso.jwksUrl", ["sso.roleClaim=roles", "sso.ownerRoles={owner}", "sso.jwksUrl=https://10.0.0.7:8443/jwks"]],
    ["collector", "tracing.endpoint", ["tracing.endpoint=http://otel-collector.monitoring.svc:4318"]],
    ["collector", "tracing.endpoint", ["tracing.endpoint=http://collector:4318"]],
    ["proxies", "egressProxy", ["egressProxy=http://proxy.example.internal:3128"]],
    ["proxies", "llmProxy.providerProxy", ["llmProxy.providerProxy=http://172.20.1.1:3128"]],
    ["proxies", "llmProxy.providerProxy", ["llmProxy.providerProxy=http://[fd00::1]:3128"]],
  ] as const)("need networkPolicy.%s if the host in %s is internal: %j", async (list, setting, sets) => {
    const { code, output } = await runHelmTemplate("minimal", sets);
    expect(code).toBe(1);
    expect(output).toContain(`networkPolicy.${list} is empty`);
    expect(output).toContain(setting);
    const peers = `networkPolicy.${list}[0].ipBlock.cidr=10.0.0.0/24`;
    expect((await runHelmTemplate("minimal", [...sets, peers])).code).toBe(0);
    expect((await runHelmTemplate("minimal", [...sets, "networkPolicy.enabled=false"])).code).toBe(0);
  });

  it("permit exactly the addresses that the services' own check of URLs permits", async () => {
    const policy = new EgressPolicy();
    const blocks = egressBlocks((await renderChart("minimal")).manifests, "conversation");
    const permitted = createBlockList(blocks.map(({ cidr }) => cidr));
    const excluded = createBlockList(blocks.flatMap(({ except }) => except));
    const differences = [...sampleAddresses(blocks)].filter(
      (address) => policy.permits(address) !== (permitted.contains(address) && !excluded.contains(address)),
    );
    expect(differences).toEqual([]);
  });
});

/** Yields an address in each IPv4 network of 16 bits, and of 24 bits where special ranges are small; and the addresses around each block. */
function* sampleAddresses(blocks: readonly { cidr: string; except: readonly string[] }[]): Generator<string> {
  const withSmallRanges = new Set([100, 168, 169, 172, 192, 198, 203]);
  for (let first = 0; first < 256; first++)
    for (let second = 0; second < 256; second++)
      if (!withSmallRanges.has(first)) yield `${first}.${second}.7.9`;
      else for (let third = 0; third < 256; third++) yield `${first}.${second}.${third}.9`;
  for (let first = 0x2000; first < 0x4000; first++) yield `${first.toString(16)}:7::9`;
  for (let second = 0; second < 0x1000; second++) yield `2001:${second.toString(16)}::9`;
  for (const cidr of blocks.flatMap((block) => [block.cidr, ...block.except])) yield* addressesAround(cidr);
}

/** Yields the first and the last address of a network, and its neighbours. */
function* addressesAround(cidr: string): Generator<string> {
  const [network = "", bits = ""] = cidr.split("/");
  const isV6 = network.includes(":");
  const width = isV6 ? 128n : 32n;
  const start = isV6 ? parseIpv6(network) : network.split(".").reduce((sum, octet) => sum * 256n + BigInt(octet), 0n);
  const end = start + (1n << (width - BigInt(bits))) - 1n;
  for (const value of [start - 1n, start, end, end + 1n])
    if (value >= 0n && value < 1n << width) yield isV6 ? formatIpv6(value) : formatIpv4(value);
}

function parseIpv6(text: string): bigint {
  const [head = "", tail = ""] = text.split("::");
  const [left, right] = [head, tail].map((part) => (part === "" ? [] : part.split(":"))) as [string[], string[]];
  const parts = [...left, ...Array<string>(8 - left.length - right.length).fill("0"), ...right];
  return parts.reduce((sum, part) => (sum << 16n) + BigInt(`0x${part}`), 0n);
}

function formatIpv6(value: bigint): string {
  return Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - index * 16)) & 0xffffn).toString(16)).join(
    ":",
  );
}

function formatIpv4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");
}

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
