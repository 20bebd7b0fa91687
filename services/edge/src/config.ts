import { Environment, LOG_LEVELS, readRpcMultiplex, readTracing } from "@parley/service-kit";

export type Config = ReturnType<typeof readConfig>;

/** Reads and validates the edge's environment. Throws ConfigError that lists every problem. */
export function readConfig(values: NodeJS.ProcessEnv) {
  const environment = new Environment(values);
  return environment.finish({
    publicHost: environment.text("PUBLIC_HOST", "0.0.0.0"),
    publicPort: environment.port("PORT", 8080),
    host: environment.text("HOST", "127.0.0.1"),
    opsPort: environment.port("OPS_PORT", 8081),
    conversationTarget: environment.text("CONVERSATION_TARGET", "localhost:8082"),
    quotaTarget: environment.text("QUOTA_TARGET", "localhost:8084"),
    llmTarget: environment.text("LLM_TARGET", "localhost:8086"),
    internalToken: environment.required("INTERNAL_TOKEN", "the token for calls between services"),
    redisUrl: environment.optionalUrl("REDIS_URL", ["redis", "rediss"]),
    jwt: {
      issuer: environment.required("JWT_ISSUER", "the iss claim of your single sign-on's access tokens"),
      audience: environment.required("JWT_AUDIENCE", "the aud claim of your single sign-on's access tokens"),
      jwksUrl: environment.url("JWKS_URL", ["https", "http", "file"], "where your single sign-on publishes its keys"),
      workspaceClaim: environment.text("JWT_WORKSPACE_CLAIM", "workspace_id"),
    },
    trustedProxies: environment.list("TRUSTED_PROXIES"),
    widgetDir: environment.optional("WIDGET_DIR"),
    /** A directory with ca.crt, tls.crt and tls.key. If set, gRPC uses mutual TLS, otherwise plain text. */
    grpcTlsDir: environment.optional("GRPC_TLS_DIR"),
    opsTlsDir: environment.optional("OPS_TLS_DIR"),
    isRpcMultiplexed: readRpcMultiplex(environment),
    maxStreams: environment.integer("MAX_STREAMS", 5_000, { min: 1 }),
    // The rate limit allows 60 streams per minute and address, and a stream may last five minutes: 60 × 5 = 300.
    maxStreamsPerClient: environment.integer("MAX_STREAMS_PER_CLIENT", 300, { min: 1 }),
    drainMs: environment.integer("DRAIN_MS", 25_000),
    logLevel: environment.oneOf("LOG_LEVEL", LOG_LEVELS, "info"),
    tracing: readTracing(environment),
  });
}
