/**
 * The variables that configure Parley or a library below it, so that a test does not depend on the machine it runs on. RPC_MULTIPLEX is not
 * among them: with RPC_MULTIPLEX=off every process that the tests start makes plain gRPC calls.
 */
const configuring = [
  /^(OPENAI|OLLAMA|JWT|JWKS|PARLEY|OTEL|PG|VITEST)/,
  /^(DATABASE_URL|REDIS_URL|PORT|DATA_DIR|DEFAULT_MODEL|ADMIN_TOKEN|INTERNAL_TOKEN)$/,
  /^(LLM_CONFIG|EGRESS_ALLOW|TRUSTED_PROXIES|LOG_LEVEL|NODE_ENV|NODE_OPTIONS|TEST)$/,
];

/** This process's environment without what configures Parley, and with `extra` on top. */
export function scrubbedEnv(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !configuring.some((pattern) => pattern.test(name)));
  return { ...Object.fromEntries(kept), ...extra };
}
