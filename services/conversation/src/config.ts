import {
  Environment,
  LOG_LEVELS,
  parseTokens,
  readOptionalJwtSettings,
  readPreparedStatements,
  readRpcMultiplex,
  readShardCount,
  readTracing,
  readUsageRetention,
} from "@parley/service-kit";
import { isModelName } from "./bots/index.ts";
import { parseSender, parseSmtpUrl, type Sender } from "./emails/index.ts";
import { parseEncryptionKeys } from "./webhooks/index.ts";

export type Config = ReturnType<typeof readConfig>;

const KEY_PREFIX = /^[a-z0-9_]{0,16}pk_$/;

/** Reads PLAN_MODELS, a JSON object like {"pro": ["openai:gpt-5-mini", "ollama:*"]}. `<provider>:*` means all models of a provider. */
function readPlanModels(environment: Environment): ReadonlyMap<string, readonly string[]> {
  const text = environment.text("PLAN_MODELS", "{}");
  try {
    const value: unknown = JSON.parse(text);
    const isListOfModels = (each: unknown) =>
      Array.isArray(each) && each.every((model) => typeof model === "string" && isModelName(model));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      const plans = Object.entries(value);
      if (plans.every(([, models]) => isListOfModels(models))) return new Map(plans);
    }
  } catch {
    // Reported below.
  }
  environment.addProblem('PLAN_MODELS must be JSON like {"pro": ["openai:gpt-5-mini", "ollama:*"]}');
  return new Map();
}

/** Reads SMTP_URL and MAIL_FROM. Returns undefined if e-mail is off. */
function readEmail(environment: Environment) {
  const server = environment.optionalSecret("SMTP_URL", parseSmtpUrl);
  if (server === undefined) return undefined;
  const from = environment.requiredText("MAIL_FROM", "the sender of e-mail, such as Parley <parley@example.com>");
  let sender: Sender = { name: "", address: "" };
  try {
    if (from !== "") sender = parseSender(from);
  } catch (error) {
    environment.addProblem(`MAIL_FROM ${error instanceof Error ? error.message : error}`);
  }
  return { server, sender };
}

/** Reads and validates the conversation service's environment. Throws a ConfigError that lists every problem. */
export function readConfig(values: NodeJS.ProcessEnv) {
  const environment = new Environment(values);
  const keyPrefix = environment.text("KEY_PREFIX", "svc_pk_");
  if (!KEY_PREFIX.test(keyPrefix))
    environment.addProblem("KEY_PREFIX must have at most 19 characters of a-z 0-9 _ and end in pk_, like svc_pk_");
  return environment.finish({
    host: environment.text("HOST", "127.0.0.1"),
    grpcPort: environment.port("GRPC_PORT", 8082),
    opsPort: environment.port("OPS_PORT", 8083),
    databaseUrl: environment.requiredUrl(
      "DATABASE_URL",
      ["postgres", "postgresql"],
      "the database, as the role parley_conversation",
    ),
    databasePool: environment.integer("DATABASE_POOL", 10, { min: 2, max: 200 }),
    shardCount: readShardCount(environment),
    usesPreparedStatements: readPreparedStatements(environment),
    quotaTarget: environment.text("QUOTA_TARGET", "localhost:8084"),
    llmTarget: environment.text("LLM_TARGET", "localhost:8086"),
    keyPrefix,
    internalTokens: environment.requiredSecret("INTERNAL_TOKEN", parseTokens, "the token for calls between services"),
    adminTokens: environment.requiredSecret("ADMIN_TOKEN", parseTokens, "the token of the admin services"),
    /** Encrypts the webhooks' secrets. If undefined, webhooks are off. */
    encryptionKeys: environment.optionalSecret("ENCRYPTION_KEY", parseEncryptionKeys),
    /** How to send e-mail about workspaces' events. If undefined, e-mail is off. */
    email: readEmail(environment),
    /** The admin services verify members' access tokens with these settings. If undefined, only ADMIN_TOKEN gives access. */
    jwt: readOptionalJwtSettings(environment),
    /** The models that owners may choose, by plan. */
    planModels: readPlanModels(environment),
    /** The plans whose owners may add HTTP tools. */
    ownerToolPlans: environment.list("OWNER_TOOL_PLANS"),
    /** The plans whose members see the costs of replies. */
    costPlans: environment.list("COST_PLANS"),
    /** The sweeper closes the turns of an edge whose lease has expired. */
    leaseSeconds: environment.integer("EDGE_LEASE_SECONDS", 30, { min: 3, max: 300 }),
    /** See ReconciliationSettings. */
    reconciliation: {
      everySeconds: environment.integer("RECONCILE_EVERY_SECONDS", 60, { min: 1, max: 3_600 }),
      days: environment.integer("RECONCILE_DAYS", 7, { min: 1, max: 62 }),
      minAgeSeconds: environment.integer("RECONCILE_MIN_AGE_SECONDS", 120, { min: 1, max: 3_600 }),
    },
    /** The turns of a closed month are kept for this many months after its end; 0 keeps them forever. */
    usageRetentionMonths: readUsageRetention(environment),
    /** A directory with ca.crt, tls.crt and tls.key for mutual TLS. Without it gRPC is plain text. */
    grpcTlsDir: environment.optionalText("GRPC_TLS_DIR"),
    opsTlsDir: environment.optionalText("OPS_TLS_DIR"),
    isRpcMultiplexed: readRpcMultiplex(environment),
    /** The permitted private networks and the proxy for fetching documents from URLs, and for webhooks. */
    egress: environment.egress(),
    /** How long a stopping process waits for its calls to end. */
    drainMs: environment.integer("DRAIN_MS", 25_000),
    logLevel: environment.oneOf("LOG_LEVEL", LOG_LEVELS, "info"),
    tracing: readTracing(environment),
  });
}
