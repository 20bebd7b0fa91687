import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SERVICE_CLOSE_TIMEOUT_MS } from "@parley/service-kit/lifecycle";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { DASHBOARDS } from "../../deploy/grafana/dashboards.ts";
import {
  allowedCalls,
  CALL_GRAPH,
  CONSOLE_CALLS,
  componentsReachingInternet,
  INTERNET_COMPONENTS,
  outsidePorts,
  TRIAL_CALLS,
} from "./assertions/call-graph.ts";
import { labelProblems } from "./assertions/labels.ts";
import { podSecurityProblems } from "./assertions/pod-security.ts";
import { portProblems } from "./assertions/ports.ts";
import { referenceProblems } from "./assertions/references.ts";
import { selectorProblems } from "./assertions/selectors.ts";
import { variablesOf } from "./chart-summary.ts";
import { GOLDEN, goldenText } from "./golden.ts";
import { runHelm } from "./helm.ts";
import { componentOf, type Manifest, nameOf, ofKind, parseManifests, workloads } from "./manifest.ts";
import { withValuesTable } from "./readme.ts";
import { CHART, listValuesNames, type Rendered, renderChart, runHelmTemplate, valuesFile } from "./render.ts";
import { unknownKeys } from "./unknown-keys.ts";
import { schemaProblems } from "./validate.ts";

/** Arguments of `--set` that give the edge a KEDA trigger. */
const KEDA_TRIGGER = ["type=prometheus", "metadata.threshold=100", "metadata.query=sum(parley_streams_open)"]
  .map((each) => `edge.autoscaling.kedaTriggers[0].${each}`)
  .join(",");

type Rule = { alert?: string; expr: string; labels: Record<string, string> };
type RuleGroup = { name: string; rules: Rule[] };

/** Returns helm's flags that set an alert's threshold. `--set` would turn a fraction into a string. */
function thresholdFlags(alert: string, threshold: number): string[] {
  return ["--set-json", `prometheusRule.alerts.${alert}.threshold=${threshold}`];
}

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

/** Returns the variables of a component's containers. */
function environmentOf(manifests: readonly Manifest[], component: string): Record<string, string | undefined> {
  const pods = workloads(manifests).filter(({ labels }) => componentOf(labels) === component);
  const entries = pods.flatMap(({ pod }) => pod.containers.flatMap(({ env = [] }) => env));
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]));
}

const names = await listValuesNames();

describe.each(names)("the chart with %s values", (name) => {
  let rendered: Rendered;
  let values: unknown;
  beforeAll(async () => {
    rendered = await renderChart(name);
    values = parse(await readFile(valuesFile(name), "utf8"));
  });

  it("passes helm lint without warnings", async () => {
    const { code, output } = await runHelm("lint", CHART, "--strict", "--values", valuesFile(name));
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

  it("gives every object and pod the standard labels, the chart's label and the labels of commonLabels", () => {
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

  it("meets the restricted Pod Security Standard, with a read-only root file system and a token only with a Role", () => {
    expect(podSecurityProblems(rendered.manifests)).toEqual([]);
  });

  it("has a termination grace period longer than preStop, drain and shutdown", () => {
    for (const { manifest, pod } of workloads(rendered.manifests)) {
      const [container] = pod.containers;
      const drain = container?.env?.find((entry) => entry.name === "DRAIN_MS")?.value;
      const stopMs = drain === undefined ? 0 : Number(drain) + SERVICE_CLOSE_TIMEOUT_MS;
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

  it("uses and creates the second set of database roles, with their own passwords, with database.roleSet=2", async () => {
    const { manifests } = await renderChart("minimal", ["database.roleSet=2"]);
    const variables = workloads(manifests).flatMap(({ pod }) => pod.containers.flatMap(({ env = [] }) => env));
    const valuesOf = (name: string) =>
      variables
        .filter((each) => each.name === name)
        .map(({ value, valueFrom }) => value ?? valueFrom?.secretKeyRef?.key);
    expect(valuesOf("DATABASE_ROLE_SUFFIX")).toEqual(["_2", "_2", "_2"]);
    const keys = ["CONVERSATION", "LLM", "QUOTA"].map((service) => `${service}_DATABASE_PASSWORD_2`);
    expect(valuesOf("DATABASE_PASSWORD").sort()).toEqual(keys);
    expect(
      valuesOf("PGPASSWORD")
        .filter((key) => key !== "DATABASE_ADMIN_PASSWORD")
        .sort(),
    ).toEqual(keys);
    const roles = valuesOf("DATABASE_URL").flatMap((url) => /parley_\w+(?=@)/.exec(url ?? "") ?? []);
    expect(roles.sort()).toEqual(["parley_conversation_2", "parley_llm_2", "parley_quota_2"]);
  });

  it("mounts the trusted authorities of a ConfigMap with the certificates of cert-manager", async () => {
    const { manifests } = await renderChart("production", ["mtls.trustedAuthorities.existingConfigMap=authorities"]);
    const volumes = workloads(manifests).flatMap(({ pod }) => (pod.volumes ?? []).filter(({ name }) => name === "tls"));
    expect(volumes).toHaveLength(4);
    for (const volume of volumes) {
      const { sources } = volume.projected as { sources: { secret?: object; configMap?: object }[] };
      expect(sources[0]?.secret).toMatchObject({ name: expect.stringMatching(/^parley-.+-tls$/) });
      expect(sources[1]?.configMap).toEqual({ name: "authorities", items: [{ key: "ca.crt", path: "ca.crt" }] });
    }
  });

  it("mounts the secrets that can be rotated as files, each from its own Secret, and passes none of them as a variable", async () => {
    const { manifests } = await renderChart("console", [
      "tracing.endpoint=http://collector:4318,tracing.existingSecret=tracing",
      "redis.enabled=true,redis.existingSecret=redis",
      "llmProxy.apiKeys={OPENAI_API_KEY,TOOL_KEY},llmProxy.existingSecret=providers",
      "console.existingSecret=console",
    ]);
    const variables = variablesOf(manifests);
    const fromSecrets = [...variables].filter(([name, value]) => /^[\w-]+ \w+_FILE$/.test(name) && value.includes("/"));
    const headers = "OTEL_EXPORTER_OTLP_HEADERS_FILE=tracing/OTEL_EXPORTER_OTLP_HEADERS";
    const internal = "INTERNAL_TOKEN_FILE=parley/INTERNAL_TOKEN";
    const admin = "ADMIN_TOKEN_FILE=parley/ADMIN_TOKEN";
    expect(new Set(fromSecrets.map((entry) => entry.join("=")))).toEqual(
      new Set([
        `cli ${admin}`,
        ...[internal, headers, "REDIS_URL_FILE=redis/REDIS_URL"].map((each) => `edge ${each}`),
        ...["conversation", "quota", "llm-proxy"].flatMap((name) =>
          [internal, admin, headers].map((each) => `${name} ${each}`),
        ),
        ...["OPENAI_API_KEY", "TOOL_KEY"].map((key) => `llm-proxy ${key}_FILE=providers/${key}`),
        ...["SESSION_SECRET", "OIDC_CLIENT_SECRET"].map((key) => `console ${key}_FILE=console/${key}`),
        `console ${headers}`,
      ]),
    );
    const passed = workloads(manifests).flatMap(({ pod }) =>
      pod.containers.flatMap(({ env = [] }) =>
        env.flatMap(({ name, valueFrom }) => (valueFrom?.secretKeyRef ? name : [])),
      ),
    );
    expect(new Set(passed)).toEqual(new Set(["PGPASSWORD", "DATABASE_ADMIN_USERNAME", "DATABASE_PASSWORD"]));
  });

  it("drains edge and llm-proxy for longer than the longest reply", async () => {
    const { manifests } = await renderChart("minimal");
    const drainMsOf = (name: string) =>
      workloads(manifests)
        .flatMap(({ pod }) => pod.containers)
        .filter((container) => container.name === name)
        .flatMap(({ env = [] }) => env.filter((entry) => entry.name === "DRAIN_MS").map(({ value }) => Number(value)));
    const schema = await readFile(join(CHART, "../../services/llm-proxy/llm-config.schema.json"), "utf8");
    const longestMs = Number(/"total_ms": \{[^}]*"default": (\d+)/.exec(schema)?.[1]);
    expect(longestMs).toBeGreaterThan(0);
    for (const name of ["edge", "llm-proxy"])
      expect(drainMsOf(name), name).toEqual([expect.toSatisfy((ms) => ms > longestMs)]);
  });

  it("has only keys that Kubernetes knows, with every values file", async () => {
    const all = await Promise.all(names.map((name) => renderChart(name)));
    expect(await unknownKeys(all.flatMap(({ manifests }) => manifests))).toEqual([]);
  });

  it.each(names.filter((name) => name !== "everything-off"))(
    "allows exactly the call graph in the network policies of %s",
    async (name) => {
      const { manifests } = await renderChart(name);
      const additional: Record<string, readonly string[]> = { console: CONSOLE_CALLS, trial: TRIAL_CALLS };
      const calls = CALL_GRAPH.union(new Set(additional[name]));
      expect(allowedCalls(manifests)).toEqual({ egress: calls, ingress: calls });
      expect(componentsReachingInternet(manifests)).toEqual(INTERNET_COMPONENTS);
    },
  );

  it("allows no egress except to the database, Redis, the identity provider and the providers", async () => {
    const { manifests } = await renderChart("gateway-api");
    expect(outsidePorts(manifests, "edge")).toEqual(new Set([6379, 8443]));
    expect(outsidePorts(manifests, "conversation")).toEqual(new Set([443, 5432]));
    expect(outsidePorts(manifests, "quota")).toEqual(new Set([5432]));
    expect(outsidePorts(manifests, "llm-proxy")).toEqual(new Set([443, 5432, 11434]));
    expect(outsidePorts(manifests, "cli")).toEqual(new Set());
    expect(outsidePorts(manifests, "migrations")).toEqual(new Set([5432]));
  });

  it("lets the services with admin services verify tokens and reach the identity provider only if members have roles", async () => {
    const withRoles = await renderChart("gateway-api", ["sso.roleClaim=roles", "sso.ownerRoles={parley-owner,admin}"]);
    const without = await renderChart("gateway-api");
    for (const name of ["conversation", "quota", "llm-proxy"]) {
      expect(outsidePorts(withRoles.manifests, name), name).toContain(8443);
      expect(outsidePorts(without.manifests, name), name).not.toContain(8443);
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

  it("allows egress to the trace collector only from the four services", async () => {
    const { manifests } = await renderChart("production");
    for (const name of ["edge", "conversation", "quota", "llm-proxy"])
      expect(outsidePorts(manifests, name), name).toContain(4318);
    for (const name of ["cli", "migrations"]) expect(outsidePorts(manifests, name), name).not.toContain(4318);
  });

  it("has a network policy for every pod", async () => {
    const { manifests } = await renderChart("minimal");
    const podsWithPolicy = ofKind(manifests, "NetworkPolicy").map(({ metadata }) => metadata.name);
    expect(new Set(podsWithPolicy)).toEqual(
      new Set(workloads(manifests).map(({ manifest }) => manifest.metadata.name)),
    );
  });

  it("sets no replicas on a Deployment with an autoscaler", async () => {
    const { manifests } = await renderChart("production");
    const scaled = ofKind(manifests, "HorizontalPodAutoscaler").map(({ spec }) => String(spec.scaleTargetRef.name));
    const deployments = ofKind(manifests, "Deployment");
    const fixed = deployments.filter(({ spec }) => "replicas" in spec).map(({ metadata }) => metadata.name);
    expect(new Set(scaled)).toEqual(new Set(["parley-conversation", "parley-edge", "parley-llm-proxy"]));
    expect(new Set(fixed)).toEqual(new Set(["parley-cli", "parley-quota"]));
  });

  it("replaces a service's HorizontalPodAutoscaler with a ScaledObject of the same name and limits if it has KEDA triggers", async () => {
    const withoutTriggers = (await renderChart("production")).manifests;
    const { manifests } = await renderChart("production", [KEDA_TRIGGER, "edge.autoscaling.streamsPerPod=0"]);
    const namesOf = (all: Manifest[], kind: string) => ofKind(all, kind).map(({ metadata }) => metadata.name);
    expect(namesOf(withoutTriggers, "HorizontalPodAutoscaler")).toContain("parley-edge");
    expect(namesOf(manifests, "HorizontalPodAutoscaler")).toEqual(
      namesOf(withoutTriggers, "HorizontalPodAutoscaler").filter((name) => name !== "parley-edge"),
    );
    expect(namesOf(withoutTriggers, "ScaledObject")).toEqual([]);
    const [scaled] = ofKind(manifests, "ScaledObject") as [Manifest];
    const autoscaler = ofKind(withoutTriggers, "HorizontalPodAutoscaler").find(
      ({ metadata }) => metadata.name === "parley-edge",
    );
    expect(scaled.metadata.name).toBe("parley-edge");
    expect(scaled.metadata.annotations).toEqual({ "scaledobject.keda.sh/transfer-hpa-ownership": "true" });
    expect(scaled.spec).toEqual({
      scaleTargetRef: { name: "parley-edge" },
      minReplicaCount: autoscaler?.spec.minReplicas,
      maxReplicaCount: autoscaler?.spec.maxReplicas,
      advanced: { horizontalPodAutoscalerConfig: { name: "parley-edge", behavior: autoscaler?.spec.behavior } },
      triggers: [
        { type: "cpu", metricType: "Utilization", metadata: { value: "70" } },
        { type: "prometheus", metadata: { threshold: 100, query: "sum(parley_streams_open)" } },
      ],
    });
    const [edge] = ofKind(manifests, "Deployment").filter(({ metadata }) => metadata.name === "parley-edge");
    expect(edge?.spec).not.toHaveProperty("replicas");
  });

  it("connects a service with its own databaseHost, and its migrations, to that host, and no other service", async () => {
    const { manifests } = await renderChart("minimal", ["conversation.databaseHost=conversations.example.com"]);
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
    const { manifests } = await renderChart("single-namespace-restricted");
    const [balancer] = ofKind(manifests, "Service").filter(({ spec }) => spec.type === "LoadBalancer") as [Manifest];
    expect((balancer.spec.ports as { name: string }[]).map(({ name }) => name)).toEqual(["http"]);
    expect(balancer.spec.externalTrafficPolicy).toBe("Local");
    expect(balancer.metadata.annotations).toEqual({ "service.beta.kubernetes.io/aws-load-balancer-type": "external" });
  });

  it("attaches its HTTPRoute to the values' gateway, without a timeout for streams and exports", async () => {
    const [route] = ofKind((await renderChart("gateway-api")).manifests, "HTTPRoute") as [Manifest];
    type Rule = { matches: { path: { value: string } }[]; timeouts?: object };
    const rules = (route.spec.rules as Rule[]).map(({ matches, timeouts }) => ({
      paths: matches.map(({ path }) => path.value),
      timeouts,
    }));
    expect(route.spec.parentRefs).toEqual([{ name: "public", namespace: "gateways", sectionName: "https" }]);
    expect(rules).toEqual([
      { paths: ["/api/chat", "/api/doctor", "/api/conversations"], timeouts: { request: "0s" } },
      { paths: ["/"], timeouts: undefined },
    ]);
  });

  it("connects the services to a pooler and the migrations to the servers behind it", async () => {
    const { manifests } = await renderChart("minimal", [
      ...["database.host=pooler.example.com", "database.port=6543", "database.userSuffix=.tenant"],
      ...["migrations.database.host=server.example.com", "migrations.database.port=5432"],
      ...[
        "conversation.databaseHost=pooler-2.example.com",
        "migrations.database.hosts.conversation=server-2.example.com",
      ],
    ]);
    const servers = workloads(manifests).flatMap(({ manifest, pod }) =>
      pod.containers.flatMap(({ name, env = [] }) => {
        const url = env.find((entry) => entry.name === "DATABASE_URL")?.value;
        return url === undefined ? [] : [`${manifest.kind} ${name} ${url.replace(/^postgres:\/\/(.*)\/.*$/, "$1")}`];
      }),
    );
    expect(new Set(servers)).toEqual(
      new Set([
        "Deployment conversation parley_conversation.tenant@pooler-2.example.com:6543",
        "Deployment quota parley_quota.tenant@pooler.example.com:6543",
        "Deployment llm-proxy parley_llm.tenant@pooler.example.com:6543",
        "Job conversation $(DATABASE_ADMIN_USERNAME)@server-2.example.com:5432",
        "Job quota $(DATABASE_ADMIN_USERNAME)@server.example.com:5432",
        "Job llm-proxy $(DATABASE_ADMIN_USERNAME)@server.example.com:5432",
      ]),
    );
  });

  it("turns prepared statements off in the three services with a database, and in nothing else", async () => {
    const { manifests } = await renderChart("minimal", ["database.preparedStatements=false"]);
    const variables = workloads(manifests).flatMap(({ manifest, pod }) =>
      pod.containers.flatMap(({ name, env = [] }) =>
        env.flatMap((entry) =>
          entry.name === "DATABASE_PREPARED_STATEMENTS" ? [`${manifest.kind} ${name} ${entry.value}`] : [],
        ),
      ),
    );
    expect(variables.sort()).toEqual([
      "Deployment conversation off",
      "Deployment llm-proxy off",
      "Deployment quota off",
    ]);
  });

  describe("Redis", () => {
    const renderEdge = async (...sets: string[]) => {
      const { manifests } = await renderChart("minimal", ["redis.enabled=true", ...sets]);
      const variables = [...variablesOf(manifests)].flatMap(([name, value]) =>
        name.startsWith("edge REDIS_") ? [`${name.slice("edge ".length)}=${value}`] : [],
      );
      return { variables, ports: outsidePorts(manifests, "edge") };
    };
    const REDIS_URL = "REDIS_URL_FILE=parley/REDIS_URL";

    it("is one server by default", async () => {
      const { variables, ports } = await renderEdge();
      expect(variables).toEqual([REDIS_URL]);
      expect(ports).toEqual(new Set([443, 6_379]));
    });

    it("is a cluster with redis.mode=cluster", async () => {
      const { variables } = await renderEdge("redis.mode=cluster", "networkPolicy.redisPort=7000");
      expect(variables).toEqual([REDIS_URL, "REDIS_MODE=cluster"]);
    });

    it("is found through sentinels with redis.mode=sentinel, and the edge may connect to the sentinels' port", async () => {
      const key = "SENTINEL_PASSWORD";
      const sets = ["redis.mode=sentinel", "redis.sentinelMaster=main", `redis.sentinelPasswordKey=${key}`];
      const { variables, ports } = await renderEdge(...sets);
      expect(variables).toEqual([
        REDIS_URL,
        `REDIS_SENTINEL_PASSWORD_FILE=parley/${key}`,
        "REDIS_MODE=sentinel",
        "REDIS_SENTINEL_MASTER=main",
      ]);
      expect(ports).toEqual(new Set([443, 6_379, 26_379]));
    });

    it("fails to render with redis.mode=sentinel and no name of the master", async () => {
      const { code, output } = await runHelmTemplate("minimal", ["redis.enabled=true", "redis.mode=sentinel"]);
      expect(code).not.toBe(0);
      expect(output).toContain("redis.sentinelMaster is empty");
    });
  });

  describe("the migration Job without a hook", () => {
    const renderJob = async (...sets: string[]) => {
      const { manifests } = await renderChart("single-namespace-restricted", sets);
      expect(manifests.filter(({ metadata }) => metadata.annotations?.["helm.sh/hook"]).map(nameOf)).toEqual([]);
      const [job] = ofKind(manifests, "Job") as [Manifest];
      return { name: job.metadata.name, spec: job.spec };
    };

    it("is the same when applied again, in a later revision, and after a change that does not affect it", async () => {
      const job = await renderJob();
      expect(job.name).toMatch(/^chat-migrations-[0-9a-f]{8}$/);
      expect(await renderJob("edge.replicas=3", "networkPolicy.enabled=false")).toEqual(job);
      const { code, output } = await runHelmTemplate("single-namespace-restricted", [], ["--is-upgrade"]);
      expect(code, output).toBe(0);
      expect(output).toContain(`name: ${job.name}\n`);
    });

    it.each([
      "image.tag=9.9.9",
      "quota.image.digest=sha256:0000000000000000000000000000000000000000000000000000000000000000",
      "migrations.database.host=server.example.com",
      "migrations.activeDeadlineSeconds=900",
      "pod.annotations.example=changed",
      "commonLabels.team=other",
    ])("has another name with %s, because Kubernetes does not permit changes of a Job", async (set) => {
      const [before, after] = [await renderJob(), await renderJob(set)];
      expect(after.spec).not.toEqual(before.spec);
      expect(after.name).not.toBe(before.name);
    });

    it("has no TTL, because a GitOps tool would create the deleted Job again", async () => {
      expect((await renderJob()).spec).not.toHaveProperty("ttlSecondsAfterFinished");
    });
  });

  it("makes the migrations a PreSync hook of Argo CD, which keeps a failed Job until the next sync", async () => {
    const { manifests } = await renderChart("minimal");
    const hooks = manifests.flatMap(({ kind, metadata: { annotations = {} } }) => {
      const argo = (name: string) => annotations[`argocd.argoproj.io/${name}`];
      return argo("hook") === undefined ? [] : [[kind, argo("hook"), argo("sync-wave"), argo("hook-delete-policy")]];
    });
    const policy = "BeforeHookCreation,HookSucceeded";
    expect(hooks.sort()).toEqual([
      ["Job", "PreSync", "-5", policy],
      ["NetworkPolicy", "PreSync", "-10", policy],
      ["ServiceAccount", "PreSync", "-10", policy],
    ]);
    const [job] = ofKind(manifests, "Job") as [Manifest];
    expect(job.metadata.name).toBe("parley-migrations");
    expect(job.spec).not.toHaveProperty("ttlSecondsAfterFinished");
  });

  it("renders an llm.yaml that matches llm-proxy's schema", async () => {
    const maps = ofKind((await renderChart("production")).manifests, "ConfigMap");
    const configMap = maps.find(({ metadata }) => metadata.name === "parley-llm-proxy");
    const schema = JSON.parse(await readFile(join(CHART, "../../services/llm-proxy/llm-config.schema.json"), "utf8"));
    const accepts = new Ajv2020({ strict: false }).compile(schema);
    const { data } = configMap as unknown as { data: Partial<Record<string, string>> };
    expect(accepts(parse(String(data["llm.yaml"]))), JSON.stringify(accepts.errors)).toBe(true);
  });

  it("restarts only llm-proxy when its providers change", async () => {
    const changed = await renderChart("production", ["llmProxy.config.default_model=route:other"]);
    const before = workloads((await renderChart("production")).manifests);
    const restarted = workloads(changed.manifests).filter(
      ({ manifest }, index) => JSON.stringify(manifest) !== JSON.stringify(before[index]?.manifest),
    );
    expect(restarted.map(({ manifest }) => nameOf(manifest))).toEqual(["Deployment parley-llm-proxy"]);
  });

  it.each([
    ["console", "console.url=", "console.url is empty"],
    ["console", "console.edgeUrl=", "console.edgeUrl is empty"],
    ["console", "console.url=https://chat.example.com", "console.url has a host of the edge"],
    ["console", "sso.roleClaim=null,sso.ownerRoles=null", "sso.roleClaim is empty"],
    ["minimal", "ingress.enabled=true", "edge.trustedProxies is empty"],
    ["gateway-api", "edge.trustedProxies=null", "edge.trustedProxies is empty"],
    ["gateway-api", "httpRoute.parentRefs=null", "httpRoute.parentRefs is empty"],
    ["production", "ingress.hosts=null", "ingress.hosts is empty"],
    ["production", "mtls.issuerRef=null", "mtls.issuerRef is empty"],
    ["minimal", "mtls.opsPorts=true", "mtls.opsPorts needs the certificates"],
    ["production", "doctor.origin=", "doctor.origin is empty"],
    ["production", "caBundle.existingConfigMap=own", "caBundle.containsOpsAuthority is false"],
    ["console", "cli.enabled=false,caBundle.existingConfigMap=own", "caBundle.containsOpsAuthority is false"],
    [
      "production",
      `edge.autoscaling.streamsPerPod=100,${KEDA_TRIGGER}`,
      "edge.autoscaling.streamsPerPod has no effect",
    ],
    ["minimal", "doctor.publicKey=svc_pk_x,doctor.origin=https://a.example", "doctor.url is empty"],
    ["production", "llmProxy.existingConfigMap=own", "mutually exclusive"],
    ["minimal", "existingSecret=", "existingSecret is empty"],
    ["minimal", "database.host=", "database.host is empty"],
    ["minimal", "sso.issuer=", "sso.issuer is empty"],
    ["minimal", "sso.roleClaim=roles", "sso.ownerRoles and sso.viewerRoles are empty"],
    ["minimal", "sso.viewerRoles={a}", "sso.roleClaim is empty"],
  ])("refuses %s values with %s", async (name, set, reason) => {
    const { code, output } = await runHelmTemplate(name, [set]);
    expect(code).toBe(1);
    expect(output).toContain(reason);
  });

  it("refuses values with which the maximum replicas may open more than database.maxConnections during a rollout", async () => {
    const sets = [
      "conversation.replicas=9,conversation.databasePool=20", // 9 + 3 in a rollout
      "quota.autoscaling.enabled=true,quota.autoscaling.maxReplicas=4", // 4 + 1
      "llmProxy.databaseHost=calls.example.com", // a server of its own
    ];
    const refused = await runHelmTemplate("minimal", [...sets, "database.maxConnections=289"]);
    expect(refused.code).toBe(1);
    expect(refused.output).toContain(
      "may open 290 database connections during a rollout, and database.maxConnections is 289: " +
        "conversation (9 + 3) × 20, quota (4 + 1) × 10, as (replicas + surge) × databasePool, without those of draining pods. Lower databasePool",
    );
    expect((await runHelmTemplate("minimal", [...sets, "database.maxConnections=290"])).code).toBe(0);
  });

  it("renders the alerts with absolute runbook URLs", async () => {
    const [rule] = ofKind((await renderChart("production")).manifests, "PrometheusRule") as [Manifest];
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
      const [rule] = ofKind((await renderChart("production", values)).manifests, "PrometheusRule") as [Manifest];
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

  it("sets each threshold in the expressions of every alert that has one", async () => {
    const rules = (parse(await readFile(join(CHART, "files/alerts.yaml"), "utf8")) as { groups: RuleGroup[] }).groups;
    const alerts = rules.flatMap((group) => group.rules).filter(({ alert }) => alert !== undefined);
    const [withThreshold, withoutThreshold] = [true, false].map((hasThreshold) =>
      alerts.filter(({ expr }) => expr.includes("# threshold") === hasThreshold),
    ) as [Rule[], Rule[]];
    // These alerts have no number, or a number that must not change.
    expect(withoutThreshold.map(({ alert }) => alert)).toEqual([
      "ParleyTargetDown",
      "ParleyServiceMissing",
      "ParleyConsoleDown",
      "ParleyAutoscalerAtMaximum",
      "ParleyMigrationFailed",
      "ParleyProviderDown",
      "ParleyProviderBreakerOpen",
      "ParleyProviderRefusesKey",
      "ParleyConfigReloadRefused",
      "ParleyUsageUnreconciled",
      "ParleyAccountingUnknown",
      "ParleyWorkspaceAtCap",
    ]);
    const { output } = await runHelmTemplate(
      "production",
      [],
      withThreshold.flatMap(({ alert = "" }) => thresholdFlags(alert, 0.0042)),
    );
    const [rule] = ofKind(parseManifests(output), "PrometheusRule") as [Manifest];
    const rendered = new Map(
      (rule.spec.groups as RuleGroup[]).flatMap((group) => group.rules).map(({ alert, expr }) => [alert, expr]),
    );
    for (const { alert, expr } of withThreshold) {
      const numbers = rendered.get(alert)?.match(/\S+ # threshold/g) ?? [];
      expect(numbers, alert).toEqual(expr.match(/# threshold/g)?.map((comment) => `0.0042 ${comment}`));
    }
  });

  it.each([
    ["an unknown alert", "ParleyProvidersSlow.enabled=false", "there is no such alert"],
    ["a threshold of an alert without one", "ParleyTargetDown.threshold=2", "has no threshold to set"],
    ["a threshold that is not a number", "ParleyProviderSlow.threshold=slow", "got string, want number"],
    ["a delay without a unit", "ParleyProviderSlow.for=never", "does not match pattern"],
    ["an unknown setting", "ParleyProviderSlow.severities=page", "'severities' not allowed"],
  ])("refuses prometheusRule.alerts with %s", async (_, setting, reason) => {
    const { code, output } = await runHelmTemplate("production", [`prometheusRule.alerts.${setting}`]);
    expect(code).not.toBe(0);
    expect(output).toContain(reason);
  });

  it.each([
    ["ParleyTurnsFailing", 0.07, "must be less than 1/14.4,"],
    ["ParleyFirstTokenLate", 0.07, "must be less than 1/14.4,"],
    ["ParleyTurnsFailingSlowly", 0.34, "must be less than 1/3,"],
    ["ParleyFirstTokenLateSlowly", 0.34, "must be less than 1/3,"],
  ])("refuses a threshold with which a part of %s cannot fire", async (alert, threshold, reason) => {
    const { code, output } = await runHelmTemplate("production", [], thresholdFlags(alert, threshold));
    expect(code).not.toBe(0);
    expect(output).toContain(`prometheusRule.alerts.${alert}.threshold: ${reason}`);
  });

  it("renders each dashboard in a ConfigMap with the label that Grafana's sidecar selects", async () => {
    const maps = ofKind((await renderChart("production")).manifests, "ConfigMap");
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

  it("probes services over HTTP, which mTLS requires, as often as by gRPC", async () => {
    const timings = async (name: string) =>
      workloads((await renderChart(name)).manifests).flatMap(({ pod }) =>
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
    const [monitor] = ofKind((await renderChart("production")).manifests, "PodMonitor") as [Manifest];
    const [endpoint] = monitor.spec.podMetricsEndpoints as [{ honorLabels: boolean; relabelings: object[] }];
    expect(endpoint.honorLabels).toBe(true);
    expect(endpoint.relabelings).toEqual([
      { targetLabel: "application", replacement: "parley" },
      { sourceLabels: ["__meta_kubernetes_pod_label_app_kubernetes_io_component"], targetLabel: "service" },
      { sourceLabels: ["__meta_kubernetes_pod_label_app_kubernetes_io_instance"], targetLabel: "release" },
    ]);
    // The alerts select by the label `service`, which must be the component's name.
    const { manifests } = await renderChart("production");
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
      const pods = ofKind((await renderChart(name, sets)).manifests, "Pod");
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

  // For each test hook of any kind, `helm test --logs` prints the log of the pod with the hook's name. A second hook of that name would print it twice.
  it("renders no test hook but the doctor's pod", async () => {
    const { manifests } = await renderChart("production");
    const hooks = manifests.filter(({ metadata }) => metadata.annotations?.["helm.sh/hook"] === "test");
    expect(hooks.map(({ kind }) => kind)).toEqual(["Pod"]);
  });

  it("can be packaged", async () => {
    const folder = await mkdtemp(join(tmpdir(), "parley-chart-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { code, output } = await runHelm("package", CHART, "--destination", folder);
    expect(code, output).toBe(0);
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^parley-.*\.tgz$/)]);
  });
});
