import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parse, stringify } from "yaml";
import { startBackends } from "./backends.ts";
import { ROOT, run } from "./commands.ts";
import { readBlock } from "./documentation.ts";
import type { LoadReport } from "./load.ts";
import { merge, type Values } from "./values.ts";

export const VISITORS = 8;
/** Tokens of a reply, which the provider sends every 50 ms. */
const TOKENS = 60;
const modelOf = (tokens: number) => `openai:tokens-${tokens}-every-50`;
export const MODEL = modelOf(TOKENS);
/** A model whose first text takes 6 s, with the reply of MODEL. */
export const SLOW_MODEL = `openai:first-6000-tokens-${TOKENS}-every-50`;
const replyOf = (tokens: number) => Array.from({ length: tokens }, (_, index) => `t${index} `).join("");
const DATABASE_ADMIN_PASSWORD = "of-the-administrator";
const ORIGIN = "https://www.example.com";
/** Longer than a rollout of all components takes on a busy machine, including the drains. */
const HELM_TIMEOUT_MS = 540_000;

/** Small CPU requests, so that two cores have room for the new pods of a rollout. */
const REQUESTS = { resources: { requests: { cpu: "20m" } } };

/** Values that the tests' cluster needs in addition to the documented ones. */
const VALUES = {
  database: { host: "postgres.backends.svc.cluster.local", tls: { mode: "disable" } },
  llmProxy: { openaiBaseUrl: "http://provider.backends.svc.cluster.local:9999/v1", ...REQUESTS },
  networkPolicy: {
    providers: [
      {
        to: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "backends" } } }],
        ports: [{ port: 9999, protocol: "TCP" }],
      },
    ],
  },
  conversation: REQUESTS,
  edge: REQUESTS,
  quota: REQUESTS,
  doctor: { url: "http://parley.parley.svc.cluster.local" },
};

/** `tokens` is the length of the replies of the tenant's bot. */
export type Tenant = { workspaceId: string; publicKey: string; tokens: number };
export type Pod = {
  name: string;
  uid: string;
  address: string;
  component: string;
  isTerminating: boolean;
  /** Restarts of all its containers. */
  restarts: number;
};

export type Installation = {
  /** Follows docs/install/cluster.md up to the Secret: creates the namespace, the database and the Secret. */
  prepare(): Promise<void>;
  /** Merges the documented values, those that the tests' cluster needs, and `values` into values.yaml. Later ones take precedence. */
  writeValues(values?: Values): Promise<void>;
  /** Writes values.yaml and runs the first `sh` block of a section of docs/install as it is printed there. */
  runDocumented(page: string, heading: string, values?: Values): Promise<void>;
  /** Runs a shell script in the folder with the chart and values.yaml, and returns its output. */
  shell(script: string): Promise<string>;
  parley(...args: string[]): Promise<string>;
  /** Runs a command in the CLI's pod and returns its output. */
  inCliPod(...command: string[]): Promise<string>;
  /** Runs the first `sh` block before the first section of a page of docs/install. Does not write values.yaml. */
  runFirstBlock(page: string): Promise<void>;
  /** Runs the SQL of a section of docs/install as the database user `parley_admin`. */
  runDocumentedSql(page: string, heading: string): Promise<void>;
  /** Runs SQL in Parley's database as the superuser and returns the rows, one a line with `|` between the columns. */
  query(sql: string): Promise<string>;
  readSecret(...keys: string[]): Promise<string[]>;
  createTenant(tokens?: number): Promise<Tenant>;
  pods(): Promise<Pod[]>;
  waitForTerminatingPods(): Promise<void>;
  /** Replaces the pods of components, and waits until the old pods have ended. */
  restart(...components: string[]): Promise<void>;
  /** Runs an operation while visitors send messages to `url`, by default the edges' Service. */
  underLoad(
    tenant: Tenant,
    operation: () => Promise<void>,
    options?: { url?: string; visitors?: number },
  ): Promise<LoadReport>;
  helm(...args: string[]): Promise<string>;
  /** Runs kubectl in Parley's namespace. */
  kubectl(...args: string[]): Promise<string>;
  /** Lists the objects in Parley's namespace, except events, the objects that Kubernetes creates, and the documented Secret. */
  listObjects(): Promise<string[]>;
  remove(): Promise<void>;
};

const NAMESPACES = ["parley", "backends", "redis"];

/** Installs Parley as documented, with additional values, and creates a tenant. */
export async function install(values?: Values): Promise<{ installation: Installation; tenant: Tenant }> {
  const installation = await createInstallation();
  await startBackends();
  await installation.prepare();
  await installation.runDocumented("cluster.md", "5. Install", values);
  return { installation, tenant: await installation.createTenant() };
}

/** Returns an Installation without installing Parley. Throws if the cluster already has one of NAMESPACES, because `remove` deletes them. */
export async function createInstallation(): Promise<Installation> {
  const existing = await run("kubectl", ["get", "namespace", ...NAMESPACES, "--ignore-not-found", "--output=name"]);
  if (existing !== "") throw new Error(`the cluster already has ${existing.trim().replaceAll("\n", ", ")}`);
  const folder = await mkdtemp(join(tmpdir(), "parley-installation-"));
  await symlink(join(ROOT, "charts"), join(folder, "charts"));
  const env = { HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder };
  const kubectl = (...args: string[]) => run("kubectl", args, { timeoutMs: 180_000 });
  const helm = (...args: string[]) => run("helm", args, { cwd: folder, env, timeoutMs: HELM_TIMEOUT_MS });
  const shell = (script: string) =>
    run("bash", ["-euo", "pipefail", "-c", script], { cwd: folder, env, timeoutMs: HELM_TIMEOUT_MS });

  const inCliPod = (...command: string[]) =>
    kubectl("--namespace", "parley", "exec", "deployment/parley-cli", "--", ...command);
  const parley = (...args: string[]) => inCliPod("parley", ...args);

  function psql(user: string, password: string, database: string, sql: string): Promise<string> {
    const exec = ["exec", "--stdin", "deployment/postgres", "--", "env", `PGPASSWORD=${password}`];
    const format = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"];
    const connection = ["psql", "--host=127.0.0.1", `--username=${user}`, "--set=ON_ERROR_STOP=1", ...format, database];
    return run("kubectl", ["--namespace", "backends", ...exec, ...connection], { stdin: sql });
  }

  async function pods(): Promise<Pod[]> {
    const { items } = JSON.parse(await kubectl("--namespace", "parley", "get", "pods", "--output", "json")) as {
      items: {
        metadata: { name: string; uid: string; labels?: Partial<Record<string, string>>; deletionTimestamp?: string };
        status: { podIP?: string; containerStatuses?: { restartCount: number }[] };
      }[];
    };
    return items.map(({ metadata: { name, uid, labels = {}, deletionTimestamp }, status }) => ({
      name,
      uid,
      address: status.podIP ?? "",
      component: labels["app.kubernetes.io/component"] ?? "",
      isTerminating: deletionTimestamp !== undefined,
      restarts: (status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0),
    }));
  }

  async function waitForTerminatingPods(): Promise<void> {
    while ((await pods()).some(({ isTerminating }) => isTerminating)) await sleep(1_000);
  }

  async function restart(...components: string[]): Promise<void> {
    for (const component of components) {
      const deployment = `deployment/parley-${component}`;
      await kubectl("--namespace", "parley", "rollout", "restart", deployment);
      await kubectl("--namespace", "parley", "rollout", "status", deployment, "--timeout=170s");
    }
    await waitForTerminatingPods();
  }

  async function writeValues(values: Values = {}): Promise<void> {
    const documented = parse(await readBlock("cluster.md", "4. The values", "yaml")) as Values;
    // The visitors' pod acts as the load balancer, which forwards each visitor's address.
    const selector = ["--selector=app=visitors", "--output=jsonpath={.items[0].status.podIP}"];
    const loadBalancer = await kubectl("--namespace", "backends", "get", "pods", ...selector);
    const edge = { trustedProxies: [`${loadBalancer}/32`] };
    const registry = process.env.PARLEY_CLUSTER_REGISTRY;
    const images = registry === undefined ? {} : { image: { registry } };
    await writeFile(
      join(folder, "values.yaml"),
      stringify([VALUES, { edge }, images, values].reduce(merge, documented)),
    );
  }

  return {
    helm,
    kubectl: (...args) => kubectl("--namespace", "parley", ...args),
    parley,
    inCliPod,
    pods,
    waitForTerminatingPods,
    restart,

    async prepare() {
      const sql = (await readBlock("database.md", "PostgreSQL", "sql")).replace("…", DATABASE_ADMIN_PASSWORD);
      await psql("postgres", "postgres", "postgres", sql);

      const secret = (await readBlock("cluster.md", "3. The Secret", "sh"))
        .replace("DATABASE_ADMIN_PASSWORD=…", `DATABASE_ADMIN_PASSWORD=${DATABASE_ADMIN_PASSWORD}`)
        .replace("OPENAI_API_KEY=…", "OPENAI_API_KEY=sk-of-the-tests");
      await shell(secret);
      await kubectl("label", "namespace", "parley", "pod-security.kubernetes.io/enforce=restricted");
    },

    writeValues,
    shell,
    query: (sql) => psql("postgres", "postgres", "parley", sql),

    async runDocumented(page, heading, values) {
      await writeValues(values);
      await shell(await readBlock(page, heading, "sh"));
    },

    async runFirstBlock(page) {
      await shell(await readBlock(page, "", "sh"));
    },

    async runDocumentedSql(page, heading) {
      await psql("parley_admin", DATABASE_ADMIN_PASSWORD, "postgres", await readBlock(page, heading, "sql"));
    },

    async readSecret(...keys) {
      const json = await kubectl("--namespace", "parley", "get", "secret", "parley", "--output", "json");
      const { data } = JSON.parse(json) as { data: Partial<Record<string, string>> };
      return keys.map((key) => Buffer.from(data[key] ?? "", "base64").toString());
    },

    async createTenant(tokens = TOKENS) {
      const { id } = JSON.parse(await parley("workspace", "create", "--name", "Test", "--plan", "scale", "--json"));
      await parley("bot", "create", "--workspace", id, "--slug", "support", "--model", modelOf(tokens));
      const key = ["key", "create", "--workspace", id, "--bot", "support", "--domain", new URL(ORIGIN).host, "--json"];
      return { workspaceId: id, publicKey: JSON.parse(await parley(...key)).public_key, tokens };
    },

    async underLoad({ publicKey, tokens }, operation, { url = VALUES.doctor.url, visitors = VISITORS } = {}) {
      const variables = {
        URL: url,
        ORIGIN,
        PUBLIC_KEY: publicKey,
        VISITORS: String(visitors),
        EXPECTED_REPLY: replyOf(tokens),
      };
      const assignments = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
      const exec = ["--namespace", "backends", "exec", "--stdin", "deployment/visitors", "--"];
      const child = spawn("kubectl", [...exec, "env", ...assignments, "node", "/load/load.js"]);
      let [stdout, stderr] = ["", ""];
      child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
      const exited = once(child, "close");
      try {
        // The first replies come before the operation, and the last ones after it.
        await sleep(5_000);
        await operation();
        await sleep(5_000);
      } finally {
        child.stdin.end("stop\n");
      }
      await exited;
      // Prints the time and the cause of each failed stream.
      process.stderr.write(stderr);
      if (stdout === "") throw new Error(`the load ended without a report: ${stderr}`);
      return JSON.parse(stdout) as LoadReport;
    },

    async listObjects() {
      const kinds = (await kubectl("api-resources", "--verbs=list", "--namespaced", "--output=name"))
        .trim()
        .split("\n");
      const listed = kinds.filter((kind) => !kind.startsWith("events")).join(",");
      const names = (await kubectl("--namespace", "parley", "get", listed, "--output=name")).trim().split("\n");
      const excluded = ["configmap/kube-root-ca.crt", "serviceaccount/default", "secret/parley"];
      return names.filter((name) => name !== "" && !excluded.includes(name));
    },

    async remove() {
      // Deletes the pods first: the deletion of a namespace with pods takes minutes (half of the pods' grace period).
      await kubectl("--namespace", "parley", "delete", "deployments,jobs,pods", "--all", "--cascade=foreground");
      await kubectl("delete", "namespace", ...NAMESPACES, "--ignore-not-found");
      await rm(folder, { recursive: true });
    },
  };
}
