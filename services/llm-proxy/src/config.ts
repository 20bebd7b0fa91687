import { Environment, LOG_LEVELS, readTracing } from "@parley/service-kit";

export type Config = ReturnType<typeof readConfig>;

/** Reads and checks the llm-proxy's environment; throws ConfigError with everything that is wrong. */
export function readConfig(values: NodeJS.ProcessEnv) {
  const environment = new Environment(values);
  return environment.finish({
    host: environment.text("HOST", "127.0.0.1"),
    grpcPort: environment.port("GRPC_PORT", 8086),
    opsPort: environment.port("OPS_PORT", 8087),
    databaseUrl: environment.url("DATABASE_URL", ["postgres", "postgresql"], "the database, as the role parley_llm"),
    databasePool: environment.integer("DATABASE_POOL", 10, { min: 1, max: 200 }),
    internalToken: environment.required("INTERNAL_TOKEN", "the token that the services show each other"),
    adminToken: environment.required("ADMIN_TOKEN", "the token of the admin services"),
    /** A directory with ca.crt, tls.crt and tls.key: gRPC is mutual TLS with it, plain text without. */
    grpcTlsDir: environment.optional("GRPC_TLS_DIR"),
    /** Days that the call ledger is kept; 0 is for ever. */
    ledgerRetentionDays: environment.integer("LEDGER_RETENTION_DAYS", 400, { min: 0, max: 36_500 }),
    drainMs: environment.integer("DRAIN_MS", 25_000),
    logLevel: environment.oneOf("LOG_LEVEL", LOG_LEVELS, "info"),
    tracing: readTracing(environment),
    /** Where tools may go, beside public addresses. */
    egress: environment.egressPolicy(),
    /** The file of providers and routes; without one, they follow from the variables below. */
    llmConfigPath: environment.optional("LLM_CONFIG"),
    defaultModel: environment.optional("DEFAULT_MODEL"),
    openaiBaseUrl: environment.optionalUrl("OPENAI_BASE_URL", ["http", "https"]),
    openaiConfigured: ["OPENAI_API_KEY", "OPENAI_BASE_URL"].some((name) => environment.optional(name) !== undefined),
    ollamaHost: environment.optional("OLLAMA_HOST"),
    /** A provider's key by the name of its variable, the only way a key comes in. */
    readKey: (name: string) => environment.optional(name),
  });
}

/** Reads what a migration needs: an administrator's URL and the role's password, or the role's own URL alone. */
export function readMigrateConfig(values: NodeJS.ProcessEnv) {
  const environment = new Environment(values);
  return environment.finish({
    url: environment.url("DATABASE_URL", ["postgres", "postgresql"], "the database, as a role that may create schemas"),
    rolePassword: environment.optional("DATABASE_PASSWORD"),
  });
}
