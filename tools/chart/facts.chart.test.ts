import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { type Facts, factsOf, variablesOf } from "./facts.ts";
import { componentOf, workloads } from "./manifest.ts";
import { CHART, render, valuesNames } from "./render.ts";

// Checks the facts of the chart rendered with each values file in charts/parley/ci. The golden file covers the production values instead.

const { appVersion } = parse(await readFile(join(CHART, "Chart.yaml"), "utf8")) as { appVersion: string };

function images(components: readonly string[], registry = ""): string {
  return components.map((name) => `${registry}parley/${name}:${appVersion}`).join(", ");
}

const SERVICES = ["conversation", "edge", "llm-proxy", "quota"];

const MINIMAL: Facts = {
  deployments: "cli 1, conversation 2, edge 2, llm-proxy 2, quota 2",
  runs: "Job parley-migrations pre-install,pre-upgrade",
  images: images(["cli", ...SERVICES]),
  pods: "user 1000, user 1000 over topology.kubernetes.io/zone over kubernetes.io/hostname",
  probes: [
    "conversation ops/healthz/ready grpc:8082 grpc:8082",
    "edge ops/healthz/ready http/healthz/ready http/healthz/live",
    "llm-proxy ops/healthz/ready grpc:8086 grpc:8086",
    "quota ops/healthz/ready grpc:8084 grpc:8084",
  ].join(", "),
  services: [
    "parley ClusterIP http:80",
    "parley-conversation headless grpc:8082 ops:8083",
    "parley-conversation-clusterip ClusterIP grpc:8082",
    "parley-edge-ops headless ops:8081",
    "parley-llm-proxy headless grpc:8086 ops:8087",
    "parley-llm-proxy-clusterip ClusterIP grpc:8086",
    "parley-quota headless grpc:8084 ops:8085",
    "parley-quota-clusterip ClusterIP grpc:8084",
  ].join(", "),
  entrances: "",
  networkPolicies: "cli, conversation 443 5432, edge 443, llm-proxy 443 5432, migrations 5432, quota 5432",
  disruptionBudgets: "conversation, edge, llm-proxy, quota",
  databases: "postgres.example.com:5432/parley?sslmode=verify-full",
  rest: "",
};

const FACTS: Readonly<Record<string, Facts>> = {
  minimal: MINIMAL,
  "everything-off": {
    ...MINIMAL,
    deployments: "conversation 1, edge 1, llm-proxy 1, quota 1",
    runs: "",
    images: images(SERVICES),
    pods: "user of the platform",
    networkPolicies: "",
    disruptionBudgets: "",
    databases: "postgres:5432/parley",
  },
  "gateway-api": {
    ...MINIMAL,
    entrances: "HTTPRoute chat.example.com",
    networkPolicies:
      "cli, conversation 443 5432, edge 6379 8443, llm-proxy 443 5432 11434, migrations 5432, quota 5432",
    databases: "parley-rw.databases.svc:5432/parley?sslmode=no-verify",
  },
  openshift: {
    ...MINIMAL,
    images: `${images(["cli", ...SERVICES])}, registry.example.com/log-forwarder:1.4.0`,
    pods: MINIMAL.pods.replaceAll("user 1000", "user of the platform"),
    networkPolicies:
      "cli 5353, conversation 443 3307 5353 5432, edge 443 5353 6379, llm-proxy 443 3307 5353 5432 8443, " +
      "migrations 443 3307 5353 5432, quota 443 3307 5353 5432",
    databases: "127.0.0.1:5432/parley",
    rest: "ConfigMap parley-environment, ConfigMap parley-llm-proxy, PodMonitor parley",
  },
  "single-namespace-restricted": {
    ...MINIMAL,
    runs: "Job chat-migrations-1 without hook",
    images: images(["cli", ...SERVICES], "mirror.example.internal/parley/"),
    services: MINIMAL.services.replaceAll("parley", "chat").replace("ClusterIP", "LoadBalancer"),
    networkPolicies: "cli, conversation 443 5432, edge 443 6379, llm-proxy 443 5432 8000, migrations 5432, quota 5432",
    databases: "postgres:5432/chat?sslmode=verify-full",
  },
};

const EVERY_SERVICE = ["HOST", "LOG_LEVEL", "DRAIN_MS", "INTERNAL_TOKEN"];
const ADMIN = ["ADMIN_TOKEN"];
const DATABASE = ["DATABASE_URL", "PGPASSWORD", "DATABASE_POOL"];
const TOKENS = ["JWT_ISSUER", "JWT_AUDIENCE", "JWKS_URL", "JWT_WORKSPACE_CLAIM"];
const STREAMS = ["MAX_STREAMS", "MAX_STREAMS_PER_CLIENT"];

/** The environment of each component with the minimal values. */
const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  edge: [...EVERY_SERVICE, "CONVERSATION_TARGET", "QUOTA_TARGET", "LLM_TARGET", ...TOKENS, ...STREAMS],
  conversation: [...EVERY_SERVICE, ...ADMIN, "KEY_PREFIX", "QUOTA_TARGET", "LLM_TARGET", ...DATABASE],
  quota: [...EVERY_SERVICE, ...ADMIN, ...DATABASE],
  "llm-proxy": [...EVERY_SERVICE, ...ADMIN, ...DATABASE],
  cli: ["PARLEY_EDGE_URL", "PARLEY_CONVERSATION_URL", "PARLEY_QUOTA_URL", "PARLEY_LLM_URL", "ADMIN_TOKEN"],
  migrations: ["DATABASE_ADMIN_USERNAME", "PGPASSWORD", "DATABASE_URL", "DATABASE_PASSWORD"],
};

/** For each values file, the variables that it adds to VARIABLES and those that it lacks. */
const DIFFERENCES: Readonly<Record<string, { added: readonly string[]; missing: readonly string[] }>> = {
  minimal: { added: [], missing: [] },
  "everything-off": { added: [], missing: [] },
  "gateway-api": {
    added: [
      "edge TRUSTED_PROXIES=10.42.0.0/16",
      "edge REDIS_URL=parley/REDIS_URL",
      "llm-proxy DEFAULT_MODEL=ollama:llama3.2",
      "llm-proxy OLLAMA_HOST=http://ollama.models.svc:11434",
    ],
    missing: [],
  },
  openshift: {
    added: [
      "cli NODE_EXTRA_CA_CERTS=/etc/parley/ca-bundle/ca.crt",
      "conversation NODE_EXTRA_CA_CERTS=/etc/parley/ca-bundle/ca.crt",
      "edge NODE_EXTRA_CA_CERTS=/etc/parley/ca-bundle/ca.crt",
      "edge TRUSTED_PROXIES=10.128.0.0/14",
      "edge REDIS_URL=parley/REDIS_URL",
      "llm-proxy NODE_EXTRA_CA_CERTS=/etc/parley/ca-bundle/ca.crt",
      "llm-proxy LLM_CONFIG=/etc/parley/llm/llm.yaml",
      "quota NODE_EXTRA_CA_CERTS=/etc/parley/ca-bundle/ca.crt",
      "migrations NODE_EXTRA_CA_CERTS=/etc/parley/ca-bundle/ca.crt",
    ],
    missing: [],
  },
  "single-namespace-restricted": {
    added: [
      "edge REDIS_URL=chat/REDIS_URL",
      "llm-proxy OPENAI_BASE_URL=http://models:8000/v1",
      "llm-proxy OPENAI_API_KEY=chat/OPENAI_API_KEY",
    ],
    missing: ["migrations DATABASE_PASSWORD"],
  },
};

const names = (await valuesNames()).filter((name) => name !== "production");

it.each(names)("renders the expected objects with %s values", async (name) => {
  const { manifests } = await render(name);
  expect(factsOf(manifests)).toEqual(FACTS[name]);
});

it.each(names)("sets the expected environment with %s values", async (name) => {
  const { manifests } = await render(name);
  const components = new Set(workloads(manifests).map(({ labels }) => componentOf(labels)));
  const expected = [...components].flatMap((component) => VARIABLES[component]?.map((each) => `${component} ${each}`));
  const variables = variablesOf(manifests);
  const added = [...variables].flatMap(([variable, value]) =>
    expected.includes(variable) ? [] : [`${variable}=${value}`],
  );
  const missing = expected.filter((variable) => !variables.has(String(variable)));
  expect({ added, missing }).toEqual(DIFFERENCES[name]);
});
