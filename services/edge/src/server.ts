import { randomUUID } from "node:crypto";
import { ConversationService } from "@parley/rpc/conversation";
import { LlmService } from "@parley/rpc/llm";
import { QuotaService } from "@parley/rpc/quota";
import { connectPeer, createRegistry, type Lifecycle, type Logger, startOpsServer } from "@parley/service-kit";
import { v7 as uuidv7 } from "uuid";
import { buildApp } from "./app.ts";
import { createTokenVerifier } from "./auth/access-token.ts";
import { createJwks } from "./auth/jwks.client.ts";
import { createKeyResolver } from "./auth/public-keys.client.ts";
import type { Config } from "./config.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { createFallbackLimiter } from "./rate-limits/fallback-limiter.ts";
import { createLocalLimiter } from "./rate-limits/local-limiter.ts";
import { createMalformedRequests } from "./rate-limits/malformed-requests.ts";
import type { RateLimiter } from "./rate-limits/rate-limiter.ts";
import { createRedisLimiter } from "./rate-limits/redis-limiter.client.ts";
import { createStreams } from "./streams/open-streams.ts";
import { keepLease } from "./turns/lease.worker.ts";
import { createTurnCloser } from "./turns/turn-closer.ts";

/**
 * During shutdown: how long a stream that the edge has ended may take to store its outcome and send its last events. If a complete reply
 * cannot be stored, its stream would need 14 s. The edge closes such a connection without `error` and `done`.
 */
const STREAM_END_MS = 12_000;
const CLOSE_DRAIN_MS = 10_000;

/** Starts the edge. It stops in the opposite order: first the streams, then their dependencies. */
export async function start(config: Config, log: Logger, lifecycle: Lifecycle): Promise<void> {
  const registry = createRegistry("edge");
  const monotonicMs = () => performance.now();
  const jwks = createJwks({ url: config.jwt.jwksUrl, now: monotonicMs }, log);
  const metrics = createMetrics(registry, { jwksAgeSeconds: () => jwks.ageMs() / 1_000 });
  const peer = (target: string) => ({
    target,
    internalToken: config.internalToken,
    tlsDir: config.grpcTlsDir,
    isMultiplexed: config.isRpcMultiplexed,
    failures: metrics.rpcFailures,
  });
  const conversation = connectPeer(ConversationService, peer(config.conversationTarget), lifecycle);
  const quota = connectPeer(QuotaService, peer(config.quotaTarget), lifecycle);
  const llm = connectPeer(LlmService, { ...peer(config.llmTarget), multiplexesStreams: true }, lifecycle);

  jwks.start();
  lifecycle.onClose("key set", () => jwks.stop());

  const edgeId = randomUUID();
  const lease = keepLease(conversation, edgeId, log, lifecycle);
  const streams = createStreams(
    { process: config.maxStreams, client: config.maxStreamsPerClient },
    metrics.streams,
    monotonicMs,
  );
  const closer = createTurnCloser(conversation, log, () => metrics.streams.doneAfterError.inc());
  const isStopping = () => lifecycle.isClosing;
  const isReady = () => lease.wasGranted() && !isStopping();

  const limiter = createLimiter(config, metrics.limiter, log, lifecycle);
  const app = await buildApp(
    {
      conversation,
      streams,
      limiter,
      malformed: createMalformedRequests(limiter, monotonicMs),
      resolveKey: createKeyResolver(conversation),
      verifyToken: createTokenVerifier(config.jwt, jwks),
      turn: { conversation, quota, llm, closer, edgeId, newTurnId: uuidv7 },
      monotonicMs,
      isReady,
      isStopping,
      onRefusal: (code, route) => metrics.http.refusals.inc({ route, code }),
      http: metrics.http,
    },
    { trustedProxies: config.trustedProxies, widgetDir: config.widgetDir },
    log,
  );
  await startOpsServer(
    { host: config.host, port: config.opsPort, tlsDir: config.opsTlsDir, registry, isReady },
    log,
    lifecycle,
  );
  await app.listen({ host: config.publicHost, port: config.publicPort });

  lifecycle.onClose("http server", () => app.close());
  lifecycle.onClose("turn closes", () => closer.drain(CLOSE_DRAIN_MS), CLOSE_DRAIN_MS + 1_000);
  lifecycle.onClose(
    "streams",
    () => streams.drain(config.drainMs, STREAM_END_MS),
    config.drainMs + STREAM_END_MS + 1_000,
  );
}

function createLimiter(config: Config, metrics: Metrics["limiter"], log: Logger, lifecycle: Lifecycle): RateLimiter {
  const local = createLocalLimiter(() => performance.now());
  if (config.redisUrl === undefined) return local;
  const shared = createRedisLimiter(config.redisUrl, log);
  lifecycle.onClose("redis", () => shared.close());
  return createFallbackLimiter(shared, local, metrics);
}
