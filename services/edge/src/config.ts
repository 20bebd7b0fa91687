import {
  Environment,
  LOG_LEVELS,
  parseTokens,
  readJwtSettings,
  readRpcMultiplex,
  readTracing,
} from "@parley/service-kit";
import { POLICIES } from "./rate-limits/index.ts";
import { readRedis } from "./rate-limits/redis-settings.ts";

export type Config = ReturnType<typeof readConfig>;

/** Throws a ConfigError that lists every problem. */
export function readConfig(values: NodeJS.ProcessEnv) {
  const environment = new Environment(values);
  return environment.finish({
    publicHost: environment.text("PUBLIC_HOST", "0.0.0.0"),
    publicPort: environment.port("PORT", 8080),
    /** The address on which the ops port and the edge RPC port listen. */
    host: environment.text("HOST", "127.0.0.1"),
    opsPort: environment.port("OPS_PORT", 8081),
    conversationTarget: environment.text("CONVERSATION_TARGET", "localhost:8082"),
    quotaTarget: environment.text("QUOTA_TARGET", "localhost:8084"),
    llmTarget: environment.text("LLM_TARGET", "localhost:8086"),
    internalTokens: environment.requiredSecret("INTERNAL_TOKEN", parseTokens, "the token for calls between services"),
    /**
     * The host name or IP address at which other edges reach this process. If unset, a client that reconnects to another edge gets the rest
     * of its reply only after the whole reply is stored.
     */
    edgeRpcHost: environment.optionalText("EDGE_RPC_ADDRESS"),
    edgeRpcPort: environment.port("EDGE_RPC_PORT", 8088),
    /** The host name in the edges' certificates. In Kubernetes, edges call each other by pod IP address, which no certificate contains. */
    edgeRpcTlsName: environment.optionalText("EDGE_RPC_TLS_NAME"),
    redis: readRedis(environment),
    jwt: readJwtSettings(environment),
    trustedProxies: environment.list("TRUSTED_PROXIES"),
    widgetDir: environment.optionalText("WIDGET_DIR"),
    /** A directory with ca.crt, tls.crt and tls.key. If set, gRPC uses mutual TLS, otherwise plain text. */
    grpcTlsDir: environment.optionalText("GRPC_TLS_DIR"),
    opsTlsDir: environment.optionalText("OPS_TLS_DIR"),
    isRpcMultiplexed: readRpcMultiplex(environment),
    maxStreams: environment.integer("MAX_STREAMS", 5_000, { min: 1 }),
    // The rate limit allows 60 streams per minute and address, and a provider's reply takes at most five minutes by default: 60 × 5 = 300.
    // The streams of signed-in callers count by user, because the console's users share its address.
    maxStreamsPerClient: environment.integer("MAX_STREAMS_PER_CLIENT", 300, { min: 1 }),
    /** The requests of an address to /api/doctor/ in a minute. The numbers of its open doctor streams follow from it. */
    doctorRequests: environment.integer("EDGE_DOCTOR_REQUESTS", POLICIES.doctor.limit, { min: 3 }),
    /** How long a reply with an idempotency key continues without readers. */
    detachedReplyMs: environment.integer("DETACHED_REPLY_MS", 60_000),
    drainMs: environment.integer("DRAIN_MS", 25_000),
    logLevel: environment.oneOf("LOG_LEVEL", LOG_LEVELS, "info"),
    tracing: readTracing(environment),
  });
}
