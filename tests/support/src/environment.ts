/**
 * The processes that tests start do not inherit these variables, so that a developer's settings change no result. RPC_MULTIPLEX is not in the
 * list, so that a run with RPC_MULTIPLEX=off tests plain gRPC calls in every process.
 */
const CONFIGURATION = [
  /^(OPENAI|OLLAMA|JWT|JWKS|OIDC|PARLEY|OTEL|PG|VITEST)/,
  /^(CONSOLE|CONVERSATION|DATABASE|EDGE|EGRESS|GRPC|LEDGER|LLM|OPS|PUBLIC|QUOTA|RECONCILE|REDIS|USAGE|WIDGET)_/,
  /^(HOST|PORT|DATA_DIR|DEFAULT_MODEL|ADMIN_TOKEN|INTERNAL_TOKEN|KEY_PREFIX|COST_PLANS|OWNER_TOOL_PLANS|PLAN_MODELS|PROVIDER_PROXY|TRUSTED_PROXIES)$/,
  /^(DRAIN_MS|DETACHED_REPLY_MS|MAX_STREAMS|MAX_STREAMS_PER_CLIENT|LOG_LEVEL|NODE_ENV|NODE_OPTIONS|TEST)$/,
];

/** Returns this process's environment without the variables that configure Parley or its libraries, and with `extra`. */
export function scrubbedEnv(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !CONFIGURATION.some((pattern) => pattern.test(name)));
  return { ...Object.fromEntries(kept), ...extra };
}
