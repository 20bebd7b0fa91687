import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { STOP_WITHIN_MS } from "@parley/service-kit/lifecycle";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { DASHBOARDS } from "../../deploy/grafana/dashboards.ts";
import {
  allowedCalls,
  CALL_GRAPH,
  componentsReachingInternet,
  outsidePorts,
  REACHES_INTERNET,
} from "./assertions/call-graph.ts";
import { labelProblems } from "./assertions/labels.ts";
import { podSecurityProblems } from "./assertions/pod-security.ts";
import { portProblems } from "./assertions/ports.ts";
import { referenceProblems } from "./assertions/references.ts";
import { selectorProblems } from "./assertions/selectors.ts";
import { GOLDEN, goldenText } from "./golden.ts";
import { helm } from "./helm.ts";
import { componentOf, type Manifest, nameOf, ofKind, workloads } from "./manifest.ts";
import { withValuesTable } from "./readme.ts";
import { CHART, type Rendered, render, template, valuesFile, valuesNames } from "./render.ts";
import { unknownKeys } from "./unknown-keys.ts";
import { schemaProblems } from "./validate.ts";

type RuleGroup = { name: string; rules: { alert?: string; expr: string; labels: Record<string, string> }[] };

/** Removes the labels and selectors that limit the rules to one installation. */
function withoutInstallation(groups: RuleGroup[]): unknown[] {
  return groups.map(({ name, rules }) => ({
    name,
    rules: rules.map(({ expr, labels: { namespace: _namespace, release: _release, ...labels }, ...rule }) => ({
      ...rule,
      expr: expr
        .replaceAll('{namespace="chat", release="parley"}', "")
        .replaceAll('{namespace="chat", release="parley", ', "{")
        .replaceAll('namespace="chat"', 'namespace=~".+"'),
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
    })),
  }));
}

const names = await valuesNames();

describe.each(names)("the chart with %s values", (name) => {
  let rendered: Rendered;
  let values: unknown;
  beforeAll(async () => {
    rendered = await render(name);
    values = parse(await readFile(valuesFile(name), "utf8"));
  });

  it("passes helm lint without warnings", async () => {
    const { code, output } = await helm("lint", CHART, "--strict", "--values", valuesFile(name));
    expect(code, output).toBe(0);
  });

  it("is valid Kubernetes", () => {
    expect(schemaProblems(rendered.manifests)).toEqual([]);
  });

  it("has no duplicate names", () => {
    const all = rendered.manifests.map(nameOf);
    expect(all).toEqual([...new Set(all)]);
  });

  it("has selectors that match only the pods of their component", () => {
    expect(selectorProblems(rendered.manifests)).toEqual([]);
  });

  it("gives every object and pod the standard labels and those of the values", () => {
    expect(labelProblems(rendered.manifests, values)).toEqual([]);
  });

  it("refers only to ports that a container listens on", () => {
    expect(portProblems(rendered.manifests)).toEqual([]);
  });

  it("uses only Secrets from the values and keys that the README documents", () => {
    expect(referenceProblems(rendered.manifests, values)).toEqual([]);
  });

  it("contains no Secret", () => {
    expect(ofKind(rendered.manifests, "Secret")).toEqual([]);
  });

  it("meets the restricted Pod Security Standard, with a read-only root file system and no token", () => {
    expect(podSecurityProblems(rendered.manifests)).toEqual([]);
  });

  it("has a termination grace period longer than preStop, drain and shutdown", () => {
    for (const { manifest, pod } of workloads(rendered.manifests)) {
      const [container] = pod.containers;
      const drain = container?.env?.find((entry) => entry.name === "DRAIN_MS")?.value;
      const stopMs = drain === undefined ? 0 : Number(drain) + STOP_WITHIN_MS;
      const { preStop } = (container?.lifecycle ?? {}) as { preStop?: { sleep: { seconds: number } } };
      const graceSeconds = pod.terminationGracePeriodSeconds ?? 30;
      expect(graceSeconds, nameOf(manifest)).toBeGreaterThan((preStop?.sleep.seconds ?? 0) + stopMs / 1_000);
    }
  });
});

describe("the chart", () => {
  it("renders the golden file with the production values", async () => {
    expect(await goldenText()).toBe(await readFile(GOLDEN, "utf8"));
  });

  it("drains edge and llm-proxy for longer than the longest reply", async () => {
    const { manifests } = await render("minimal");
    const drainOf = (name: string) =>
      workloads(manifests)
        .flatMap(({ pod }) => pod.containers)
        .filter((container) => container.name === name)
        .flatMap(({ env = [] }) => env.filter((entry) => entry.name === "DRAIN_MS").map(({ value }) => Number(value)));
    const schema = await readFile(join(CHART, "../../services/llm-proxy/llm-config.schema.json"), "utf8");
    const longestMs = Number(/"total_ms": \{[^}]*"default": (\d+)/.exec(schema)?.[1]);
    expect(longestMs).toBeGreaterThan(0);
    for (const name of ["edge", "llm-proxy"])
      expect(drainOf(name), name).toEqual([expect.toSatisfy((ms) => ms > longestMs)]);
  });

  it("has only keys that Kubernetes knows", async () => {
    const all = await Promise.all(names.map((name) => render(name)));
    expect(await unknownKeys(all.flatMap(({ manifests }) => manifests))).toEqual([]);
  });

  it.each(names.filter((name) => name !== "everything-off"))(
    "allows exactly the call graph in the network policies of %s",
    async (name) => {
      const { manifests } = await render(name);
      expect(allowedCalls(manifests)).toEqual({ egress: CALL_GRAPH, ingress: CALL_GRAPH });
      expect(componentsReachingInternet(manifests)).toEqual(REACHES_INTERNET);
    },
  );

  it("allows no egress except to the database, Redis, the single sign-on and the providers", async () => {
    const { manifests } = await render("gateway-api");
    expect(outsidePorts(manifests, "edge")).toEqual(new Set([6379, 8443]));
    expect(outsidePorts(manifests, "conversation")).toEqual(new Set([443, 5432]));
    expect(outsidePorts(manifests, "quota")).toEqual(new Set([5432]));
    expect(outsidePorts(manifests, "llm-proxy")).toEqual(new Set([443, 5432, 11434]));
    expect(outsidePorts(manifests, "cli")).toEqual(new Set());
    expect(outsidePorts(manifests, "migrations")).toEqual(new Set([5432]));
  });

  it("allows egress to the trace collector only from the four services", async () => {
    const { manifests } = await render("production");
    for (const name of ["edge", "conversation", "quota", "llm-proxy"])
      expect(outsidePorts(manifests, name), name).toContain(4318);
    for (const name of ["cli", "migrations"]) expect(outsidePorts(manifests, name), name).not.toContain(4318);
  });

  it("has a network policy for every pod", async () => {
    const { manifests } = await render("minimal");
    const podsWithPolicy = ofKind(manifests, "NetworkPolicy").map(({ metadata }) => metadata.name);
    expect(new Set(podsWithPolicy)).toEqual(
      new Set(workloads(manifests).map(({ manifest }) => manifest.metadata.name)),
    );
  });

  it("sets no replicas on a Deployment with an autoscaler", async () => {
    const { manifests } = await render("production");
    const scaled = ofKind(manifests, "HorizontalPodAutoscaler").map(({ spec }) => String(spec.scaleTargetRef.name));
    const deployments = ofKind(manifests, "Deployment");
    const fixed = deployments.filter(({ spec }) => "replicas" in spec).map(({ metadata }) => metadata.name);
    expect(new Set(scaled)).toEqual(new Set(["parley-conversation", "parley-edge", "parley-llm-proxy"]));
    expect(new Set(fixed)).toEqual(new Set(["parley-cli", "parley-quota"]));
  });

  it("connects a service with its own databaseHost, and its migrations, to that host, and no other service", async () => {
    const { manifests } = await render("minimal", ["conversation.databaseHost=conversations.example.com"]);
    const hosts = workloads(manifests).flatMap(({ manifest, pod }) =>
      pod.containers.flatMap(({ name, env = [] }) => {
        const url = env.find((entry) => entry.name === "DATABASE_URL")?.value;
        return url === undefined ? [] : [`${manifest.kind} ${name} ${url.replace(/^.*@([^:]*):.*$/, "$1")}`];
      }),
    );
    const { database } = parse(await readFile(valuesFile("minimal"), "utf8")) as { database: { host: string } };
    expect(hosts.filter((each) => !each.endsWith(` ${database.host}`))).toEqual([
      "Deployment conversation conversations.example.com",
      "Job conversation conversations.example.com",
    ]);
    expect(hosts).toHaveLength(6);
  });

  it("gives the load balancer only the public port, the client addresses and the values' annotations", async () => {
    const { manifests } = await render("single-namespace-restricted");
    const [balancer] = ofKind(manifests, "Service").filter(({ spec }) => spec.type === "LoadBalancer") as [Manifest];
    expect((balancer.spec.ports as { name: string }[]).map(({ name }) => name)).toEqual(["http"]);
    expect(balancer.spec.externalTrafficPolicy).toBe("Local");
    expect(balancer.metadata.annotations).toEqual({ "service.beta.kubernetes.io/aws-load-balancer-type": "external" });
  });

  it("attaches its HTTPRoute to the values' gateway, without a timeout for streams", async () => {
    const [route] = ofKind((await render("gateway-api")).manifests, "HTTPRoute") as [Manifest];
    type Rule = { matches: { path: { value: string } }[]; timeouts?: object };
    const rules = (route.spec.rules as Rule[]).map(({ matches, timeouts }) => ({
      paths: matches.map(({ path }) => path.value),
      timeouts,
    }));
    expect(route.spec.parentRefs).toEqual([{ name: "public", namespace: "gateways", sectionName: "https" }]);
    expect(rules).toEqual([
      { paths: ["/api/chat", "/api/doctor"], timeouts: { request: "0s" } },
      { paths: ["/"], timeouts: undefined },
    ]);
  });

  it("runs the migrations as a Job named after the revision if they are not a hook", async () => {
    const { manifests } = await render("single-namespace-restricted");
    const [job] = ofKind(manifests, "Job") as [Manifest];
    expect(job.metadata.name).toBe("chat-migrations-1");
    expect(job.spec.ttlSecondsAfterFinished).toBe(86_400);
    expect(manifests.filter(({ metadata }) => metadata.annotations?.["helm.sh/hook"]).map(nameOf)).toEqual([]);
  });

  it("renders an llm.yaml that matches llm-proxy's schema", async () => {
    const maps = ofKind((await render("production")).manifests, "ConfigMap");
    const configMap = maps.find(({ metadata }) => metadata.name === "parley-llm-proxy");
    const schema = JSON.parse(await readFile(join(CHART, "../../services/llm-proxy/llm-config.schema.json"), "utf8"));
    const accepts = new Ajv2020({ strict: false }).compile(schema);
    const { data } = configMap as unknown as { data: Partial<Record<string, string>> };
    expect(accepts(parse(String(data["llm.yaml"]))), JSON.stringify(accepts.errors)).toBe(true);
  });

  it("restarts only llm-proxy when its providers change", async () => {
    const changed = await render("production", ["llmProxy.config.default_model=route:other"]);
    const before = workloads((await render("production")).manifests);
    const restarted = workloads(changed.manifests).filter(
      ({ manifest }, index) => JSON.stringify(manifest) !== JSON.stringify(before[index]?.manifest),
    );
    expect(restarted.map(({ manifest }) => nameOf(manifest))).toEqual(["Deployment parley-llm-proxy"]);
  });

  it.each([
    ["minimal", "ingress.enabled=true", "edge.trustedProxies is empty"],
    ["gateway-api", "edge.trustedProxies=null", "edge.trustedProxies is empty"],
    ["gateway-api", "httpRoute.parentRefs=null", "httpRoute.parentRefs is empty"],
    ["production", "ingress.hosts=null", "ingress.hosts is empty"],
    ["production", "mtls.issuerRef=null", "mtls.issuerRef is empty"],
    ["minimal", "mtls.opsPorts=true", "mtls.opsPorts needs the certificates"],
    ["production", "doctor.origin=", "doctor.origin is empty"],
    ["minimal", "doctor.publicKey=svc_pk_x,doctor.origin=https://a.example", "doctor.url is empty"],
    ["production", "llmProxy.existingConfigMap=own", "mutually exclusive"],
    ["minimal", "existingSecret=", "existingSecret is empty"],
    ["minimal", "database.host=", "database.host is empty"],
    ["minimal", "sso.issuer=", "sso.issuer is empty"],
  ])("refuses %s values with %s", async (name, set, reason) => {
    const { code, output } = await template(name, [set]);
    expect(code).toBe(1);
    expect(output).toContain(reason);
  });

  it("adds up the connections of maximum replicas during a rollout, and refuses more than the server leaves", async () => {
    const sets = [
      "conversation.replicas=9,conversation.databasePool=20", // 9 + 3 in a rollout
      "quota.autoscaling.enabled=true,quota.autoscaling.maxReplicas=4", // 4 + 1
      "llmProxy.databaseHost=calls.example.com", // a server of its own
    ];
    const refused = await template("minimal", [...sets, "database.maxConnections=289"]);
    expect(refused.code).toBe(1);
    expect(refused.output).toContain(
      "may open 290 database connections during a rollout, and database.maxConnections is 289: " +
        "conversation (9 + 3) × 20, quota (4 + 1) × 10, as (replicas + surge) × databasePool. Lower databasePool",
    );
    expect((await template("minimal", [...sets, "database.maxConnections=290"])).code).toBe(0);
  });

  it("renders the alerts with absolute runbook URLs", async () => {
    const [rule] = ofKind((await render("production")).manifests, "PrometheusRule") as [Manifest];
    const source = await readFile(join(CHART, "files/alerts.yaml"), "utf8");
    const base = "https://git.example.com/parley/blob/main/docs/operations/runbooks/";
    const { groups } = parse(source.replaceAll("runbook_url: docs/operations/runbooks/", `runbook_url: ${base}`));
    expect(withoutInstallation(rule.spec.groups)).toEqual(groups);
    const urls = JSON.stringify(rule.spec).match(/"runbook_url":"[^"]+"/g) ?? [];
    expect(urls.length).toBeGreaterThan(0);
    expect(urls.filter((url) => !url.startsWith(`"runbook_url":"${base}`))).toEqual([]);
  });

  it("renders an alert with the severity, delay and threshold of the values, and leaves out a disabled alert", async () => {
    const sets = [
      "prometheusRule.alerts.ParleyProviderSlow.severity=warning",
      "prometheusRule.alerts.ParleyProviderSlow.for=1h",
      "prometheusRule.alerts.ParleyProviderSlow.threshold=20",
      "prometheusRule.alerts.ParleyJwksStale.enabled=false",
    ];
    const rulesOf = async (...values: string[]) => {
      const [rule] = ofKind((await render("production", values)).manifests, "PrometheusRule") as [Manifest];
      return (rule.spec.groups as RuleGroup[]).flatMap(({ rules }) => rules);
    };
    const [normal, changed] = await Promise.all([rulesOf(), rulesOf(...sets)]);
    const expected = normal.flatMap((rule) => {
      if (rule.alert === "ParleyJwksStale") return [];
      if (rule.alert !== "ParleyProviderSlow") return [rule];
      const expr = rule.expr.replace("> 5 # threshold", "> 20 # threshold");
      expect(expr).not.toBe(rule.expr);
      return [{ ...rule, expr, for: "1h", labels: { ...rule.labels, severity: "warning" } }];
    });
    expect(expected).toHaveLength(normal.length - 1);
    expect(changed).toEqual(expected);
  });

  it.each([
    ["an unknown alert", "ParleyProvidersSlow.enabled=false", "there is no such alert"],
    ["a threshold of an alert without one", "ParleyTargetDown.threshold=2", "has no threshold to set"],
    ["a threshold that is not a number", "ParleyProviderSlow.threshold=slow", "got string, want number"],
    ["a delay without a unit", "ParleyProviderSlow.for=never", "does not match pattern"],
    ["an unknown setting", "ParleyProviderSlow.severities=page", "'severities' not allowed"],
  ])("refuses prometheusRule.alerts with %s", async (_, setting, reason) => {
    const { code, output } = await template("production", [`prometheusRule.alerts.${setting}`]);
    expect(code).not.toBe(0);
    expect(output).toContain(reason);
  });

  it("renders each dashboard in a ConfigMap with the label that Grafana's sidecar selects", async () => {
    const maps = ofKind((await render("production")).manifests, "ConfigMap");
    const dashboards = maps.filter(({ metadata }) => metadata.labels?.grafana_dashboard === "1");
    const folder = join(CHART, "files/dashboards");
    const files = await readdir(folder);
    expect(new Set(files)).toEqual(new Set(Object.keys(DASHBOARDS).map((name) => `${name}.json`)));
    for (const file of files) {
      const configMap = dashboards.find(({ data }) => `chat-parley-${file}` in (data as object));
      const { data } = configMap as unknown as { data: Record<string, string> };
      const { panels } = JSON.parse(await readFile(join(folder, file), "utf8")) as { panels: object[] };
      const own = JSON.stringify(panels).replaceAll(
        String.raw`namespace=~\"$namespace\"`,
        String.raw`namespace=\"chat\", release=\"parley\"`,
      );
      expect(JSON.parse(data[`chat-parley-${file}`] ?? "")).toMatchObject({ panels: JSON.parse(own) as object[] });
    }
  });

  it("probes services equally often by gRPC and over HTTP, which mTLS requires", async () => {
    const timings = async (name: string) =>
      workloads((await render(name)).manifests).flatMap(({ pod }) =>
        pod.containers.flatMap(({ name: container, readinessProbe, livenessProbe }) =>
          [readinessProbe, livenessProbe].flatMap((probe) => {
            if (probe === undefined) return [];
            const { grpc, httpGet, ...timing } = probe as { grpc?: object; httpGet?: object };
            return [{ container, ...timing }];
          }),
        ),
      );
    expect(await timings("minimal")).toEqual(await timings("production"));
    expect(await timings("minimal")).toHaveLength(8);
  });

  it("labels the scrape targets as the alerts expect", async () => {
    const [monitor] = ofKind((await render("production")).manifests, "PodMonitor") as [Manifest];
    const [endpoint] = monitor.spec.podMetricsEndpoints as [{ honorLabels: boolean; relabelings: object[] }];
    expect(endpoint.honorLabels).toBe(true);
    expect(endpoint.relabelings).toEqual([
      { targetLabel: "application", replacement: "parley" },
      { sourceLabels: ["__meta_kubernetes_pod_label_app_kubernetes_io_component"], targetLabel: "service" },
      { sourceLabels: ["__meta_kubernetes_pod_label_app_kubernetes_io_instance"], targetLabel: "release" },
    ]);
    // The service label that the alerts use must be the component's name.
    const { manifests } = await render("production");
    const components = workloads(manifests).flatMap(({ labels, pod }) =>
      pod.containers.some(({ ports = [] }) => ports.some(({ name }) => name === "ops")) ? [componentOf(labels)] : [],
    );
    expect(new Set(components)).toEqual(new Set(["edge", "conversation", "quota", "llm-proxy"]));
  });

  it("documents every value in its README", async () => {
    const readme = await readFile(join(CHART, "README.md"), "utf8");
    expect(readme).toBe(withValuesTable(readme, await readFile(join(CHART, "values.yaml"), "utf8")));
  });

  it("renders a doctor test for the public host name if a public key is set", async () => {
    const doctorOf = async (name: string, sets: string[] = []) => {
      const pods = ofKind((await render(name, sets)).manifests, "Pod");
      return pods.map(({ metadata, spec }) => ({
        hook: metadata.annotations?.["helm.sh/hook"],
        command: (spec as { containers: { command: string[] }[] }).containers[0]?.command.slice(0, 3),
      }));
    };
    const key = ["doctor.publicKey=svc_pk_x", "doctor.origin=https://www.example.com"];
    const test = (url: string) => [{ hook: "test", command: ["parley", "doctor", url] }];
    expect(await doctorOf("minimal")).toEqual([]);
    expect(await doctorOf("production")).toEqual(test("https://chat.example.com"));
    expect(await doctorOf("production", ["ingress.tls=null"])).toEqual(test("http://chat.example.com"));
    expect(await doctorOf("gateway-api", key)).toEqual(test("https://chat.example.com"));
    expect(await doctorOf("minimal", [...key, "doctor.url=https://b.example"])).toEqual(test("https://b.example"));
  });

  it("can be packaged", async () => {
    const folder = await mkdtemp(join(tmpdir(), "parley-chart-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { code, output } = await helm("package", CHART, "--destination", folder);
    expect(code, output).toBe(0);
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^parley-.*\.tgz$/)]);
  });
});
