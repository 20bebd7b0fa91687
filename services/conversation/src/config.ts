import { Environment, LOG_LEVELS, readRpcMultiplex, readTracing } from "@parley/service-kit";

export type Config = ReturnType<typeof readConfig>;

const KEY_PREFIX = /^[a-z0-9_]{0,16}pk_$/;

/** Reads and validates the conversation service's environment. Throws a ConfigError that lists every problem. */
export function readConfig(values: NodeJS.ProcessEnv) {
  const environment = new Environment(values);
  const keyPrefix = environment.text("KEY_PREFIX", "svc_pk_");
  if (!KEY_PREFIX.test(keyPrefix))
    environment.refuse("KEY_PREFIX must have at most 19 characters of a-z 0-9 _ and end in pk_, like svc_pk_");
  return environment.finish({
    host: environment.text("HOST", "127.0.0.1"),
    grpcPort: environment.port("GRPC_PORT", 8082),
    opsPort: environment.port("OPS_PORT", 8083),
    databaseUrl: environment.url(
      "DATABASE_URL",
      ["postgres", "postgresql"],
      "the database, as the role parley_conversation",
    ),
    databasePool: environment.integer("DATABASE_POOL", 10, { min: 2, max: 200 }),
    quotaTarget: environment.text("QUOTA_TARGET", "localhost:8084"),
    llmTarget: environment.text("LLM_TARGET", "localhost:8086"),
    keyPrefix,
    internalToken: environment.required("INTERNAL_TOKEN", "the token for calls between services"),
    adminToken: environment.required("ADMIN_TOKEN", "the token of the admin services"),
    leaseSeconds: environment.integer("EDGE_LEASE_SECONDS", 30, { min: 3, max: 300 }),
    /** A directory with ca.crt, tls.crt and tls.key, which enables mutual TLS for gRPC. Without it gRPC is plain text. */
    grpcTlsDir: environment.optional("GRPC_TLS_DIR"),
    opsTlsDir: environment.optional("OPS_TLS_DIR"),
    isRpcMultiplexed: readRpcMultiplex(environment),
    /** Private networks from which knowledge may be fetched, besides public addresses. */
    egress: environment.egressPolicy(),
    drainMs: environment.integer("DRAIN_MS", 25_000),
    logLevel: environment.oneOf("LOG_LEVEL", LOG_LEVELS, "info"),
    tracing: readTracing(environment),
  });
}
