/**
 * Names of variables that configure Parley or its libraries and that a machine is likely to set. Processes of the tests do not inherit these.
 * They inherit all others, such as DRAIN_MS. RPC_MULTIPLEX is not in the list, so that a run with RPC_MULTIPLEX=off tests plain gRPC calls in
 * every process.
 */
const CONFIGURATION = [
  /^(OPENAI|OLLAMA|JWT|JWKS|PARLEY|OTEL|PG|VITEST)/,
  /^(DATABASE_URL|REDIS_URL|PORT|DATA_DIR|DEFAULT_MODEL|ADMIN_TOKEN|INTERNAL_TOKEN)$/,
  /^(LLM_CONFIG|EGRESS_ALLOW|EGRESS_PROXY|PROVIDER_PROXY|TRUSTED_PROXIES|LOG_LEVEL|NODE_ENV|NODE_OPTIONS|TEST)$/,
];

/** Returns this process's environment without the variables of CONFIGURATION, and with `extra`. */
export function scrubbedEnv(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !CONFIGURATION.some((pattern) => pattern.test(name)));
  return { ...Object.fromEntries(kept), ...extra };
}
