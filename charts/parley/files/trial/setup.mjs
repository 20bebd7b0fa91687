// Prepares a trial. Creates the Secret with random passwords and tokens, waits for the services, and creates a workspace, a bot, a document and
// a key. Then prints how to ask a question. Each step can be repeated, so a second run changes nothing.
import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const { NAMESPACE, SECRET, OWNER, EDGE_SERVICE, EDGE_PORT } = process.env;
const TOKEN_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/token";
const REQUEST_TIMEOUT_MS = 10_000;
const WAIT_MS = 300_000;
const RETRY_MS = 2_000;
const RANDOM_KEYS = [
  "INTERNAL_TOKEN",
  "ADMIN_TOKEN",
  "CONVERSATION_DATABASE_PASSWORD",
  "QUOTA_DATABASE_PASSWORD",
  "LLM_DATABASE_PASSWORD",
  "DATABASE_ADMIN_PASSWORD",
];

const run = promisify(execFile);

/** Calls the Kubernetes API. Returns undefined for 404, and throws for any other failure. */
async function callApi(method, path, body) {
  const token = await readFile(TOKEN_FILE, "utf8");
  const response = await fetch(`https://kubernetes.default.svc/api/v1/namespaces/${NAMESPACE}/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const result = await response.json();
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${result.message}`);
  return result;
}

/** Returns the Secret's values, encoded as base64. Creates the Secret if it is missing, owned by this script's ConfigMap: see setup.yaml. */
async function ensureSecret() {
  const existing = await callApi("GET", `secrets/${SECRET}`);
  if (existing) return existing.data;
  const owner = await callApi("GET", `configmaps/${OWNER}`);
  const values = Object.fromEntries(RANDOM_KEYS.map((key) => [key, randomBytes(32).toString("hex")]));
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: SECRET,
      ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: OWNER, uid: owner.metadata.uid }],
    },
    stringData: { ...values, DATABASE_ADMIN_USERNAME: "postgres" },
  };
  return (await callApi("POST", "secrets", secret)).data;
}

/** Retries until `attempt` succeeds. Throws its last error after `WAIT_MS`. `target` is what it waits for, for the log. */
async function withRetry(target, attempt) {
  const deadline = Date.now() + WAIT_MS;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      if (isFirst) console.log(`waiting for ${target}`);
      await sleep(RETRY_MS);
    }
  }
}

const secret = await withRetry("the Kubernetes API", ensureSecret);
console.log(`the Secret ${SECRET} exists`);
const env = { ...process.env, ADMIN_TOKEN: Buffer.from(secret.ADMIN_TOKEN, "base64").toString() };

async function parley(...args) {
  const { stdout } = await run("parley", [...args, "--json"], { env });
  return JSON.parse(stdout);
}

async function ensureBot() {
  const workspaces = await parley("workspace", "list");
  if (!workspaces.some(({ id }) => id === "trial"))
    await parley("workspace", "create", "--id", "trial", "--name", "Trial", "--plan", "free");
  const bots = await parley("bot", "list", "--workspace", "trial");
  if (!bots.some(({ slug }) => slug === "trial")) await parley("bot", "create", "--workspace", "trial", "--slug", "trial");
  await parley("knowledge", "add", "--workspace", "trial", "--bot", "trial", "/setup/parley.md");
}

async function ensureKey() {
  const keys = await parley("key", "list", "--workspace", "trial");
  const activeKey = keys.find(({ revoked_at: revokedAt }) => !revokedAt);
  if (activeKey) return activeKey.public_key;
  const domains = ["--domain", "localhost", "--domain", "127.0.0.1"];
  return (await parley("key", "create", "--workspace", "trial", "--bot", "trial", ...domains)).public_key;
}

await withRetry("the services", ensureBot);
const publicKey = await withRetry("the services", ensureKey);

console.log(`
Parley is ready. Open a connection in one terminal:

  kubectl --namespace ${NAMESPACE} port-forward service/${EDGE_SERVICE} 8080:${EDGE_PORT}

Ask in another:

  curl --no-buffer http://127.0.0.1:8080/api/chat/ --header 'Content-Type: application/json' \\
    --header 'Origin: http://localhost' \\
    --data '{"public_key": "${publicKey}", "session_id": "${randomUUID()}", "message": "What is Parley?"}'
`);
