import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { type ChartSummary, summarizeChart, variablesOf } from "./chart-summary.ts";
import { GOLDEN, goldenText } from "./golden.ts";
import { componentOf, workloads } from "./manifest.ts";
import { CHART, listValuesNames, renderChart } from "./render.ts";

// Checks a summary of the chart, rendered with each values file of charts/parley/ci except production, which the golden file covers.

const { appVersion } = parse(await readFile(join(CHART, "Chart.yaml"), "utf8")) as { appVersion: string };

function images(components: readonly string[], registry = ""): string {
  return components.map((name) => `${registry}parley/${name}:${appVersion}`).join(", ");
}

const SERVICES = ["conversation", "edge", "llm-proxy", "quota"];

const MINIMAL: ChartSummary = {
  deployments: "cli 1, conversation 2, edge 2, llm-proxy 2, quota 2",
  jobsAndPods: "Job parley-migrations pre-install,pre-upgrade, Pod parley-preflight test",
  images: images(["cli", ...SERVICES]),
  pods: "user 1000, user 1000 over topology.kubernetes.io/zone over kubernetes.io/hostname",
  probes: [
    "conversation ops/healthz/ready grpc:8082 grpc:8082",
    "edge ops/healthz/live http/healthz/ready http/healthz/live",
    "llm-proxy ops/healthz/ready grpc:8086 grpc:8086",
    "quota ops/healthz/ready grpc:8084 grpc:8084",
  ].join(", "),
  services: [
    "parley ClusterIP http:80",
    "parley-conversation headless grpc:8082 ops:8083",
    "parley-conversation-clusterip ClusterIP grpc:8082 ops:8083",
    "parley-edge-ops headless ops:8081",
    "parley-llm-proxy headless grpc:8086 ops:8087",
    "parley-llm-proxy-clusterip ClusterIP grpc:8086 ops:8087",
    "parley-quota headless grpc:8084 ops:8085",
    "parley-quota-clusterip ClusterIP grpc:8084 ops:8085",
  ].join(", "),
  hosts: "",
  networkPolicies:
    "cli, conversation 443 5432, edge 443, llm-proxy 443 5432, migrations 443 5432, preflight 443, quota 5432",
  disruptionBudgets: "conversation, edge, llm-proxy, quota",
  databases: "postgres.example.com:5432/parley?sslmode=verify-full",
  otherObjects: "",
};

const SUMMARIES: Readonly<Record<string, ChartSummary>> = {
  minimal: MINIMAL,
  console: {
    deployments: "cli 1, console autoscaled, conversation 2, edge 2, llm-proxy 2, quota 2",
    jobsAndPods: "Job parley-migrations pre-install,pre-upgrade, Pod parley-preflight test",
    images: images(["cli", "console", ...SERVICES]),
    pods: "user 1000, user 1000 over topology.kubernetes.io/zone over kubernetes.io/hostname",
    probes:
      "console ops/healthz/live http/healthz/ready http/healthz/live, conversation ops/healthz/ready ops/healthz/live ops/healthz/live, edge ops/healthz/live http/healthz/ready http/healthz/live, llm-proxy ops/healthz/ready ops/healthz/live ops/healthz/live, quota ops/healthz/ready ops/healthz/live ops/healthz/live",
    services:
      "parley ClusterIP http:80, parley-console ClusterIP http:80, parley-conversation headless grpc:8082 ops:8083, parley-conversation-clusterip ClusterIP grpc:8082 ops:8083, parley-edge-ops headless ops:8081, parley-llm-proxy headless grpc:8086 ops:8087, parley-llm-proxy-clusterip ClusterIP grpc:8086 ops:8087, parley-quota headless grpc:8084 ops:8085, parley-quota-clusterip ClusterIP grpc:8084 ops:8085",
    hosts: "Ingress chat.example.com, Ingress console.example.com",
    networkPolicies:
      "cli, console 443, conversation 443 5432, edge 443, llm-proxy 443 5432, migrations 443 5432, preflight 443, quota 443 5432",
    disruptionBudgets: "console, conversation, edge, llm-proxy, quota",
    databases: "postgres.databases.svc:5432/parley?sslmode=verify-full",
    otherObjects:
      "Certificate parley-console-tls, Certificate parley-conversation-tls, Certificate parley-edge-tls, Certificate parley-llm-proxy-tls, Certificate parley-quota-tls, HorizontalPodAutoscaler parley-console, PodMonitor parley",
  },
  "everything-off": {
    ...MINIMAL,
    deployments: "conversation 1, edge 1, llm-proxy 1, quota 1",
    jobsAndPods: "Pod parley-preflight test",
    images: images(SERVICES),
    pods: "user of the platform",
    networkPolicies: "",
    disruptionBudgets: "",
    databases: "postgres:5432/parley",
  },
  "gateway-api": {
    ...MINIMAL,
    hosts: "HTTPRoute chat.example.com",
    networkPolicies:
      "cli, conversation 443 5432, edge 6379 8443, llm-proxy 443 5432 11434, migrations 5432 6379 8443, preflight 6379 8443, quota 5432",
    databases: "parley-rw.databases.svc:5432/parley?sslmode=no-verify",
  },
  trial: {
    ...MINIMAL,
    deployments: "cli 1, conversation 2, edge 2, llm-proxy 2, quota 2, trial-postgres 1",
    jobsAndPods: "Job parley-migrations-HASH without hook, Job parley-trial-setup-HASH without hook",
    images: `${images(["cli", ...SERVICES])}, postgres:17-bookworm`,
    pods: `${MINIMAL.pods}, user 999`,
    probes: MINIMAL.probes.replace("quota", "postgres nothing exec:pg_isready nothing, quota"),
    services: `${MINIMAL.services}, parley-trial-postgres ClusterIP postgres:5432`,
    networkPolicies:
      "cli, conversation 443, edge 443, llm-proxy 443, migrations, quota, trial-postgres, trial-setup any",
    databases: "parley-trial-postgres.chat.svc:5432/parley",
    otherObjects: "ConfigMap parley-trial-setup, Role parley-trial-setup, RoleBinding parley-trial-setup",
  },
  openshift: {
    ...MINIMAL,
    images: `${images(["cli", ...SERVICES])}, registry.example.com/log-forwarder:1.4.0`,
    pods: MINIMAL.pods.replaceAll("user 1000", "user of the platform"),
    networkPolicies:
      "cli 5353, conversation 443 3307 5353 5432, edge 443 5353 6379, llm-proxy 443 3307 5353 5432 8443, " +
      "migrations 443 3307 5353 5432 6379, preflight 443 5353 6379, quota 443 3307 5353 5432",
    databases: "127.0.0.1:5432/parley",
    otherObjects: "ConfigMap parley-environment, ConfigMap parley-llm-proxy, PodMonitor parley",
  },
  "single-namespace-restricted": {
    ...MINIMAL,
    jobsAndPods: "Job chat-migrations-HASH without hook, Pod chat-preflight test",
    images: images(["cli", ...SERVICES], "mirror.example.internal/parley/"),
    services: MINIMAL.services.replaceAll("parley", "chat").replace("ClusterIP", "LoadBalancer"),
    networkPolicies:
      "cli, conversation 443 5432, edge 443 6379, llm-proxy 443 5432 8000, migrations 5432, preflight 443 6379, quota 5432",
    databases: "postgres:5432/chat?sslmode=verify-full",
  },
};

/** Environment variables of the console and of each service. */
const SERVER = ["HOST", "LOG_LEVEL", "DRAIN_MS"];
/** Environment variables of each service, but not of the console. */
const RPC = ["INTERNAL_TOKEN_FILE"];
const ADMIN = ["ADMIN_TOKEN_FILE"];
const DATABASE = ["DATABASE_URL", "PGPASSWORD", "DATABASE_POOL"];
const ACCESS_TOKENS = ["JWT_ISSUER", "JWT_AUDIENCE", "JWKS_URL", "JWT_WORKSPACE_CLAIM"];
const STREAMS = ["MAX_STREAMS", "MAX_STREAMS_PER_CLIENT", "DETACHED_REPLY_MS", "EDGE_RPC_ADDRESS"];

/** The environment variables that each component has with every values file, except for DIFFERENCES. */
const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  edge: [...SERVER, ...RPC, "CONVERSATION_TARGET", "QUOTA_TARGET", "LLM_TARGET", ...ACCESS_TOKENS, ...STREAMS],
  conversation: [...SERVER, ...RPC, ...ADMIN, "KEY_PREFIX", "QUOTA_TARGET", "LLM_TARGET", ...DATABASE],
  quota: [...SERVER, ...RPC, ...ADMIN, ...DATABASE],
  "llm-proxy": [...SERVER, ...RPC, ...ADMIN, ...DATABASE],
  cli: [
    ...["PARLEY_EDGE_URL", "PARLEY_CONVERSATION_URL", "PARLEY_QUOTA_URL", "PARLEY_LLM_URL", ...ADMIN, ...RPC],
    ...["PARLEY_CONVERSATION_REPLICAS_URL", "PARLEY_QUOTA_REPLICAS_URL", "PARLEY_LLM_REPLICAS_URL"],
    ...["PARLEY_EDGE_MIN_REPLICAS", "PARLEY_CONVERSATION_MIN_REPLICAS", "PARLEY_QUOTA_MIN_REPLICAS"],
    "PARLEY_LLM_MIN_REPLICAS",
  ],
  console: [
    ...[...SERVER, "CONSOLE_URL", ...ACCESS_TOKENS, "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET_FILE", "OIDC_SCOPE"],
    ...["SESSION_SECRET_FILE", "CONVERSATION_URL", "QUOTA_URL", "EDGE_URL", "PUBLIC_EDGE_URL"],
  ],
  migrations: [
    "DATABASE_ADMIN_USERNAME",
    "PGPASSWORD",
    "DATABASE_URL",
    "DATABASE_CREATE_ROLE",
    "DATABASE_PASSWORD",
    "PARLEY_INSTALLATION",
    "DATABASE_ROLE_PREFIX",
  ],
};

/** For each values file, the variables that it adds to VARIABLES and those that it lacks. */
const DIFFERENCES: Readonly<Record<string, { added: readonly string[]; missing: readonly string[] }>> = {
  minimal: { added: [], missing: [] },
  console: {
    added: [
      "cli NODE_EXTRA_CA_CERTS=/etc/parley/ops-ca/ca.crt",
      "console GRPC_TLS_DIR=/etc/parley/tls",
      "console OPS_TLS_DIR=/etc/parley/tls",
      "console JWT_ROLE_CLAIM=roles",
      "console JWT_OWNER_ROLES=parley-owner",
      "console JWT_AGENT_ROLES=",
      "console JWT_VIEWER_ROLES=",
      "console NODE_EXTRA_CA_CERTS=/etc/parley/tls/ca.crt",
      "conversation GRPC_TLS_DIR=/etc/parley/tls",
      "conversation OPS_TLS_DIR=/etc/parley/tls",
      "conversation JWT_ISSUER=https://sso.example.com/",
      "conversation JWT_AUDIENCE=https://chat.example.com/api",
      "conversation JWKS_URL=https://sso.example.com/.well-known/jwks.json",
      "conversation JWT_WORKSPACE_CLAIM=workspace_id",
      "conversation JWT_ROLE_CLAIM=roles",
      "conversation JWT_OWNER_ROLES=parley-owner",
      "conversation JWT_AGENT_ROLES=",
      "conversation JWT_VIEWER_ROLES=",
      "edge GRPC_TLS_DIR=/etc/parley/tls",
      "edge OPS_TLS_DIR=/etc/parley/tls",
      "edge JWT_ROLE_CLAIM=roles",
      "edge JWT_OWNER_ROLES=parley-owner",
      "edge JWT_AGENT_ROLES=",
      "edge JWT_VIEWER_ROLES=",
      "edge TRUSTED_PROXIES=10.0.0.0/8",
      "edge EDGE_RPC_TLS_NAME=parley-edge.chat.svc",
      "llm-proxy GRPC_TLS_DIR=/etc/parley/tls",
      "llm-proxy OPS_TLS_DIR=/etc/parley/tls",
      "llm-proxy JWT_ISSUER=https://sso.example.com/",
      "llm-proxy JWT_AUDIENCE=https://chat.example.com/api",
      "llm-proxy JWKS_URL=https://sso.example.com/.well-known/jwks.json",
      "llm-proxy JWT_WORKSPACE_CLAIM=workspace_id",
      "llm-proxy JWT_ROLE_CLAIM=roles",
      "llm-proxy JWT_OWNER_ROLES=parley-owner",
      "llm-proxy JWT_AGENT_ROLES=",
      "llm-proxy JWT_VIEWER_ROLES=",
      "quota GRPC_TLS_DIR=/etc/parley/tls",
      "quota OPS_TLS_DIR=/etc/parley/tls",
      "quota JWT_ISSUER=https://sso.example.com/",
      "quota JWT_AUDIENCE=https://chat.example.com/api",
      "quota JWKS_URL=https://sso.example.com/.well-known/jwks.json",
      "quota JWT_WORKSPACE_CLAIM=workspace_id",
      "quota JWT_ROLE_CLAIM=roles",
      "quota JWT_OWNER_ROLES=parley-owner",
      "quota JWT_AGENT_ROLES=",
      "quota JWT_VIEWER_ROLES=",
    ],
    missing: [],
  },
  "everything-off": { added: [], missing: [] },
  "gateway-api": {
    added: [
      "edge REDIS_URL_FILE=parley/REDIS_URL",
      "edge TRUSTED_PROXIES=10.42.0.0/16",
      "llm-proxy DEFAULT_MODEL=ollama:llama3.2",
      "llm-proxy OLLAMA_HOST=http://ollama.models.svc:11434",
    ],
    missing: [],
  },
  trial: {
    added: [
      "trial-postgres POSTGRES_DB=parley",
      "trial-postgres PGDATA=/data/postgres",
      "trial-postgres POSTGRES_PASSWORD=parley-trial/DATABASE_ADMIN_PASSWORD",
      "trial-setup PARLEY_EDGE_URL=http://parley-edge-ops.chat.svc:8081",
      "trial-setup PARLEY_CONVERSATION_URL=http://parley-conversation-clusterip.chat.svc:8083",
      "trial-setup PARLEY_CONVERSATION_REPLICAS_URL=http://parley-conversation.chat.svc:8083",
      "trial-setup PARLEY_LLM_URL=http://parley-llm-proxy-clusterip.chat.svc:8087",
      "trial-setup PARLEY_LLM_REPLICAS_URL=http://parley-llm-proxy.chat.svc:8087",
      "trial-setup PARLEY_QUOTA_URL=http://parley-quota-clusterip.chat.svc:8085",
      "trial-setup PARLEY_QUOTA_REPLICAS_URL=http://parley-quota.chat.svc:8085",
      "trial-setup NODE_EXTRA_CA_CERTS=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
      "trial-setup NAMESPACE=chat",
      "trial-setup SECRET=parley-trial",
      "trial-setup OWNER=parley-trial-setup",
      "trial-setup EDGE_SERVICE=parley",
      "trial-setup EDGE_PORT=80",
    ],
    missing: [],
  },
  openshift: {
    added: [
      "cli NODE_EXTRA_CA_CERTS=/etc/parley/ca-bundle/ca.crt",
      "conversation NODE_EXTRA_CA_CERTS=/etc/parley/ca-bundle/ca.crt",
      "edge NODE_EXTRA_CA_CERTS=/etc/parley/ca-bundle/ca.crt",
      "edge REDIS_URL_FILE=parley/REDIS_URL",
      "edge TRUSTED_PROXIES=10.128.0.0/14",
      "llm-proxy NODE_EXTRA_CA_CERTS=/etc/parley/ca-bundle/ca.crt",
      "llm-proxy LLM_CONFIG=/etc/parley/llm/llm.yaml",
      "quota NODE_EXTRA_CA_CERTS=/etc/parley/ca-bundle/ca.crt",
      "migrations NODE_EXTRA_CA_CERTS=/etc/parley/ca-bundle/ca.crt",
    ],
    missing: [],
  },
  "single-namespace-restricted": {
    added: [
      "edge REDIS_URL_FILE=chat/REDIS_URL",
      "llm-proxy OPENAI_API_KEY_FILE=chat/OPENAI_API_KEY",
      "llm-proxy OPENAI_BASE_URL=http://models:8000/v1",
    ],
    missing: ["migrations DATABASE_CREATE_ROLE", "migrations DATABASE_PASSWORD"],
  },
};

const names = (await listValuesNames()).filter((name) => name !== "production");

it("renders the golden file with the production values", async () => {
  expect(await goldenText()).toBe(await readFile(GOLDEN, "utf8"));
});

it.each(names)("renders the expected objects with %s values", async (name) => {
  const { manifests } = await renderChart(name);
  expect(summarizeChart(manifests)).toEqual(SUMMARIES[name]);
});

it.each(names)("sets the expected environment with %s values", async (name) => {
  const { manifests } = await renderChart(name);
  const components = new Set(workloads(manifests).map(({ labels }) => componentOf(labels)));
  const expected = [...components].flatMap((component) =>
    (VARIABLES[component] ?? []).map((each) => `${component} ${each}`),
  );
  const variables = variablesOf(manifests);
  const added = [...variables].flatMap(([variable, value]) =>
    expected.includes(variable) ? [] : [`${variable}=${value}`],
  );
  const missing = expected.filter((variable) => !variables.has(String(variable)));
  expect({ added, missing }).toEqual(DIFFERENCES[name]);
});
