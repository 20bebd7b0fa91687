import {
  Environment,
  LOG_LEVELS,
  parseTokens,
  readOptionalJwtSettings,
  readPreparedStatements,
  readShardCount,
  readTracing,
  readUsageRetention,
} from "@parley/service-kit";

export type Config = ReturnType<typeof readConfig>;

/** Throws a ConfigError that lists every problem. */
export function readConfig(values: NodeJS.ProcessEnv) {
  const environment = new Environment(values);
  return environment.finish({
    host: environment.text("HOST", "127.0.0.1"),
    grpcPort: environment.port("GRPC_PORT", 8084),
    opsPort: environment.port("OPS_PORT", 8085),
    databaseUrl: environment.requiredUrl(
      "DATABASE_URL",
      ["postgres", "postgresql"],
      "the database, as the role parley_quota",
    ),
    databasePool: environment.integer("DATABASE_POOL", 10, { min: 1, max: 200 }),
    usesPreparedStatements: readPreparedStatements(environment),
    shardCount: readShardCount(environment),
    internalTokens: environment.requiredSecret("INTERNAL_TOKEN", parseTokens, "the token for calls between services"),
    adminTokens: environment.requiredSecret("ADMIN_TOKEN", parseTokens, "the token of the admin services"),
    /** How to verify access tokens of workspaces' members for the admin services. Without it only ADMIN_TOKEN gives access. */
    jwt: readOptionalJwtSettings(environment),
    /** A directory with ca.crt, tls.crt and tls.key, which enables mutual TLS for gRPC. Without it gRPC is plain text. */
    grpcTlsDir: environment.optionalText("GRPC_TLS_DIR"),
    opsTlsDir: environment.optionalText("OPS_TLS_DIR"),
    /** How long a closed month's rows are kept, in months after its end; 0 for no limit. */
    usageRetentionMonths: readUsageRetention(environment),
    drainMs: environment.integer("DRAIN_MS", 25_000),
    logLevel: environment.oneOf("LOG_LEVEL", LOG_LEVELS, "info"),
    tracing: readTracing(environment),
  });
}
