import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { MAX_GENERATION_MS } from "@parley/service-kit";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { variablesOf } from "./chart-summary.ts";
import { nameOf, ofKind, workloads } from "./manifest.ts";
import { CHART, renderChart } from "./render.ts";

it("mounts a ConfigMap's trusted authorities in the same volume as cert-manager's certificates", async () => {
  const { manifests } = await renderChart("production", ["mtls.trustedAuthorities.existingConfigMap=authorities"]);
  const volumes = workloads(manifests).flatMap(({ pod }) => (pod.volumes ?? []).filter(({ name }) => name === "tls"));
  expect(volumes).toHaveLength(5);
  for (const volume of volumes) {
    const { sources } = volume.projected as { sources: { secret?: object; configMap?: object }[] };
    expect(sources[0]?.secret).toMatchObject({ name: expect.stringMatching(/^parley-.+-tls$/) });
    expect(sources[1]?.configMap).toEqual({ name: "authorities", items: [{ key: "ca.crt", path: "ca.crt" }] });
  }
});

// A running pod can reload a file when its secret is rotated, but not a variable.
it("mounts secrets as files, each from the Secret that the values name for it, and passes only database credentials as variables", async () => {
  const { manifests } = await renderChart("console", [
    "tracing.endpoint=http://collector:4318,tracing.existingSecret=tracing,networkPolicy.collector[0].ipBlock.cidr=10.9.0.30/32",
    "redis.enabled=true,redis.existingSecret=redis",
    "llmProxy.apiKeys={OPENAI_API_KEY,TOOL_KEY},llmProxy.existingSecret=providers",
    "console.existingSecret=console",
    "conversation.webhooks.enabled=true",
    "conversation.email.enabled=true,conversation.email.from=Parley <p@example.com>,conversation.email.existingSecret=smtp",
  ]);
  const variables = variablesOf(manifests);
  const fileVariables = [...variables].filter(([name, value]) => /^[\w-]+ \w+_FILE$/.test(name) && value.includes("/"));
  const headers = "OTEL_EXPORTER_OTLP_HEADERS_FILE=tracing/OTEL_EXPORTER_OTLP_HEADERS";
  const internal = "INTERNAL_TOKEN_FILE=parley/INTERNAL_TOKEN";
  const admin = "ADMIN_TOKEN_FILE=parley/ADMIN_TOKEN";
  expect(new Set(fileVariables.map((entry) => entry.join("=")))).toEqual(
    new Set([
      ...[internal, admin].map((each) => `cli ${each}`),
      ...[internal, headers, "REDIS_URL_FILE=redis/REDIS_URL"].map((each) => `edge ${each}`),
      ...["conversation", "quota", "llm-proxy"].flatMap((name) =>
        [internal, admin, headers].map((each) => `${name} ${each}`),
      ),
      ...["OPENAI_API_KEY", "TOOL_KEY"].map((key) => `llm-proxy ${key}_FILE=providers/${key}`),
      ...["SESSION_SECRET", "OIDC_CLIENT_SECRET"].map((key) => `console ${key}_FILE=console/${key}`),
      `console ${headers}`,
      "conversation ENCRYPTION_KEY_FILE=parley/ENCRYPTION_KEY",
      "conversation SMTP_URL_FILE=smtp/SMTP_URL",
    ]),
  );
  const secretVariables = workloads(manifests).flatMap(({ pod }) =>
    pod.containers.flatMap(({ env = [] }) =>
      env.flatMap(({ name, valueFrom }) => (valueFrom?.secretKeyRef ? name : [])),
    ),
  );
  expect(new Set(secretVariables)).toEqual(new Set(["PGPASSWORD", "DATABASE_ADMIN_USERNAME", "DATABASE_PASSWORD"]));
});

it("renders an llm.yaml that matches llm-proxy's schema", async () => {
  const maps = ofKind((await renderChart("production")).manifests, "ConfigMap");
  const configMap = maps.find(({ metadata }) => metadata.name === "parley-llm-proxy");
  const schema = JSON.parse(await readFile(join(CHART, "../../services/llm-proxy/llm-config.schema.json"), "utf8"));
  const accepts = new Ajv2020({ strict: false }).compile(schema);
  const { data } = configMap as unknown as { data: Partial<Record<string, string>> };
  expect(accepts(parse(String(data["llm.yaml"]))), JSON.stringify(accepts.errors)).toBe(true);
});

it("restarts only llm-proxy when llmProxy.config changes", async () => {
  const changed = await renderChart("production", ["llmProxy.config.default_model=route:other"]);
  const before = workloads((await renderChart("production")).manifests);
  const restarted = workloads(changed.manifests).filter(
    ({ manifest }, index) => JSON.stringify(manifest) !== JSON.stringify(before[index]?.manifest),
  );
  expect(restarted.map(({ manifest }) => nameOf(manifest))).toEqual(["Deployment parley-llm-proxy"]);
});

it("drains edge and llm-proxy for longer than the longest reply", async () => {
  const { manifests } = await renderChart("minimal");
  const drainMsOf = (name: string) =>
    workloads(manifests)
      .flatMap(({ pod }) => pod.containers)
      .filter((container) => container.name === name)
      .flatMap(({ env = [] }) => env.filter((entry) => entry.name === "DRAIN_MS").map(({ value }) => Number(value)));
  // The llm-proxy fails the remaining generations 1 s before its drain ends.
  expect(drainMsOf("llm-proxy")).toEqual([expect.toSatisfy((ms) => ms > MAX_GENERATION_MS + 1_000)]);
  // A generation may start up to 40 s after the drain begins: the draining edge serves requests on kept-alive connections for 10 s, a turn then
  // waits up to 10 s in the TurnStartLimiter, and OpenTurn and Reserve take up to 10 s each.
  expect(drainMsOf("edge")).toEqual([expect.toSatisfy((ms) => ms >= MAX_GENERATION_MS + 40_000)]);
});

it("HTTP probes, which replace gRPC probes if mTLS is enabled, have the timings of the gRPC probes", async () => {
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

it("renders a Helm test that runs `parley doctor` with the public URL, if doctor.publicKey is set", async () => {
  const doctorOf = async (name: string, sets: string[] = []) => {
    const pods = ofKind((await renderChart(name, sets)).manifests, "Pod");
    return pods
      .filter((pod) => nameOf(pod).endsWith("-doctor"))
      .map(({ metadata, spec }) => ({
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

// For each test hook, `helm test --logs` prints the log of the pod with the hook's name, even if the hook is a ConfigMap. A second hook with the
// pod's name would print the log twice.
it("renders only pods as test hooks", async () => {
  const { manifests } = await renderChart("production");
  const hooks = manifests.filter(({ metadata }) => metadata.annotations?.["helm.sh/hook"] === "test");
  expect(hooks.map(nameOf)).toEqual(["Pod parley-doctor", "Pod parley-preflight"]);
});
