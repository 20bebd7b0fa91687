import { Environment, LOG_LEVELS, readTracing } from "@parley/service-kit";

export type Config = ReturnType<typeof readConfig>;

/** Reads and validates the llm-proxy's environment. Throws ConfigError with every problem. */
export function readConfig(values: NodeJS.ProcessEnv) {
  const environment = new Environment(values);
  return environment.finish({
    host: environment.text("HOST", "127.0.0.1"),
    grpcPort: environment.port("GRPC_PORT", 8086),
    opsPort: environment.port("OPS_PORT", 8087),
    databaseUrl: environment.url("DATABASE_URL", ["postgres", "postgresql"], "the database, as the role parley_llm"),
    databasePool: environment.integer("DATABASE_POOL", 10, { min: 1, max: 200 }),
    internalToken: environment.required("INTERNAL_TOKEN", "the token for calls between the services"),
    adminToken: environment.required("ADMIN_TOKEN", "the token of the admin services"),
    /** A directory with ca.crt, tls.crt and tls.key. With it gRPC uses mutual TLS, without it plain text. */
    grpcTlsDir: environment.optional("GRPC_TLS_DIR"),
    opsTlsDir: environment.optional("OPS_TLS_DIR"),
    /** The age, in days, from which rows of the call log are deleted; 0 to keep all. */
    callLogRetentionDays: environment.integer("LEDGER_RETENTION_DAYS", 400, { min: 0, max: 36_500 }),
    drainMs: environment.integer("DRAIN_MS", 25_000),
    logLevel: environment.oneOf("LOG_LEVEL", LOG_LEVELS, "info"),
    /** Private networks that tools may connect to, besides public addresses. */
    egress: environment.egressPolicy(),
    tracing: readTracing(environment),
    /** The file with the providers and routes. Without it, the variables below configure them. */
    llmConfigPath: environment.optional("LLM_CONFIG"),
    defaultModel: environment.optional("DEFAULT_MODEL"),
    openaiBaseUrl: environment.optionalUrl("OPENAI_BASE_URL", ["http", "https"]),
    openaiConfigured: ["OPENAI_API_KEY", "OPENAI_BASE_URL"].some((name) => environment.optional(name) !== undefined),
    ollamaHost: environment.optional("OLLAMA_HOST"),
    /** Returns the value of an environment variable that the file names, such as a provider's API key. */
    readKey: (name: string) => environment.optional(name),
  });
}
