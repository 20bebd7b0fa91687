import {
  Environment,
  LOG_LEVELS,
  parseSecretText,
  parseTokens,
  readOptionalJwtSettings,
  readPreparedStatements,
  readShardCount,
  readTracing,
} from "@parley/service-kit";

export type Config = ReturnType<typeof readConfig>;

/** Reads and validates the llm-proxy's environment. Throws ConfigError with every problem. */
export function readConfig(values: NodeJS.ProcessEnv) {
  const environment = new Environment(values);
  return environment.finish({
    host: environment.text("HOST", "127.0.0.1"),
    grpcPort: environment.port("GRPC_PORT", 8086),
    opsPort: environment.port("OPS_PORT", 8087),
    databaseUrl: environment.requiredUrl(
      "DATABASE_URL",
      ["postgres", "postgresql"],
      "the database, as the role parley_llm",
    ),
    databasePool: environment.integer("DATABASE_POOL", 10, { min: 1, max: 200 }),
    usesPreparedStatements: readPreparedStatements(environment),
    shardCount: readShardCount(environment),
    internalTokens: environment.requiredSecret(
      "INTERNAL_TOKEN",
      parseTokens,
      "the token for calls between the services",
    ),
    adminTokens: environment.requiredSecret("ADMIN_TOKEN", parseTokens, "the token of the admin services"),
    /** How the admin services verify access tokens of workspace members. If not set, only ADMIN_TOKEN gives access. */
    jwt: readOptionalJwtSettings(environment),
    /** A directory with ca.crt, tls.crt and tls.key. If set, gRPC uses mutual TLS, otherwise plain text. */
    grpcTlsDir: environment.optionalText("GRPC_TLS_DIR"),
    opsTlsDir: environment.optionalText("OPS_TLS_DIR"),
    /** 0 keeps all rows of the call log. */
    callLogRetentionDays: environment.integer("CALL_LOG_RETENTION_DAYS", 400, { min: 0, max: 36_500 }),
    drainMs: environment.integer("DRAIN_MS", 25_000),
    logLevel: environment.oneOf("LOG_LEVEL", LOG_LEVELS, "info"),
    /** How tools connect to their URLs. */
    egress: environment.egress(),
    tracing: readTracing(environment),
    /** The YAML file with the providers and routes. If not set, the variables of OpenAI and Ollama configure the providers. */
    llmConfigPath: environment.optionalText("LLM_CONFIG"),
    /** The default model, unless the LLM_CONFIG file names one. */
    defaultModel: environment.optionalText("DEFAULT_MODEL"),
    openaiBaseUrl: environment.optionalUrl("OPENAI_BASE_URL", ["http", "https"]),
    isOpenaiConfigured: ["OPENAI_API_KEY", "OPENAI_API_KEY_FILE", "OPENAI_BASE_URL"].some(
      (name) => environment.optionalText(name) !== undefined,
    ),
    /** The HTTP proxy for providers with an https URL. */
    providerProxy: environment.optionalProxyUrl("PROVIDER_PROXY"),
    ollamaHost: environment.optionalText("OLLAMA_HOST"),
    /** Returns the source of a secret, such as a provider's API key. `name` is the environment variable that the LLM_CONFIG file names. */
    findSecretSource: (name: string) => environment.optionalSecret(name, parseSecretText),
  });
}
