import { Environment, LOG_LEVELS, readTracing } from "@parley/service-kit";

export type Config = ReturnType<typeof readConfig>;

/** Reads and validates the quota service's environment. Throws a ConfigError that lists every problem. */
export function readConfig(values: NodeJS.ProcessEnv) {
  const environment = new Environment(values);
  return environment.finish({
    host: environment.text("HOST", "127.0.0.1"),
    grpcPort: environment.port("GRPC_PORT", 8084),
    opsPort: environment.port("OPS_PORT", 8085),
    databaseUrl: environment.url("DATABASE_URL", ["postgres", "postgresql"], "the database, as the role parley_quota"),
    databasePool: environment.integer("DATABASE_POOL", 10, { min: 1, max: 200 }),
    internalToken: environment.required("INTERNAL_TOKEN", "the token for calls between services"),
    adminToken: environment.required("ADMIN_TOKEN", "the token of the admin services"),
    /** A directory with ca.crt, tls.crt and tls.key, which enables mutual TLS for gRPC. Without it gRPC is plain text. */
    grpcTlsDir: environment.optional("GRPC_TLS_DIR"),
    opsTlsDir: environment.optional("OPS_TLS_DIR"),
    drainMs: environment.integer("DRAIN_MS", 25_000),
    logLevel: environment.oneOf("LOG_LEVEL", LOG_LEVELS, "info"),
    tracing: readTracing(environment),
  });
}
