import { randomBytes, randomUUID } from "node:crypto";
import { status } from "@parley/rpc";
import { ConversationService, HandoffService, SessionAdminService } from "@parley/rpc/conversation";
import { EdgeService, RefusalAdminService } from "@parley/rpc/edge";
import { LlmService } from "@parley/rpc/llm";
import { QuotaService } from "@parley/rpc/quota";
import {
  connectPeer,
  createCallGuard,
  createGrpcServer,
  createJwks,
  createRpcServerHistogram,
  createTokenVerifier,
  fixedTokens,
  type Lifecycle,
  type Logger,
  openInternalTokens,
  openSecret,
  type SecretOptions,
  type ServiceMetrics,
  startOpsServer,
  watchCertificates,
} from "@parley/service-kit";
import { buildApp, WRITE_BUFFER_BYTES } from "./app.ts";
import { createKeyResolver } from "./auth/public-keys.client.ts";
import { createChallenges } from "./challenges/challenges.ts";
import { createMonthlyCapReader } from "./challenges/monthly-caps.client.ts";
import type { Config } from "./config.ts";
import { handleAttachTurn } from "./edges/attach-turn.rpc.ts";
import { handleCancelTurn } from "./edges/cancel-turn.rpc.ts";
import { createEdgeClients, formatAddress } from "./edges/edges.client.ts";
import { trackConnections } from "./http/plugins/connections.plugin.ts";
import { listen } from "./http/plugins/listen.plugin.ts";
import { type LiveBus, LocalLiveBus } from "./live/live-bus.ts";
import { createRedisLiveBus } from "./live/redis-live-bus.client.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { createClientHash } from "./rate-limits/client-hash.ts";
import { createFallbackLimiter } from "./rate-limits/fallback-limiter.ts";
import { createLocalLimiter } from "./rate-limits/local-limiter.ts";
import { createMalformedRequestLimiter } from "./rate-limits/malformed-requests.ts";
import type { RateLimiter } from "./rate-limits/rate-limiter.ts";
import { connectRedis } from "./rate-limits/redis.client.ts";
import { createRedisLimiter } from "./rate-limits/redis-limiter.client.ts";
import { createUnpaidReplyLimiter } from "./rate-limits/unpaid-replies.ts";
import { createRefusalRecorder, type RefusalRecord } from "./refusals/refusal-recorder.ts";
import { createRefusalAdmin } from "./refusals/refusals.admin.ts";
import { createRefusalStore, type RefusalStore } from "./refusals/refusals.client.ts";
import { createStreamRegistry } from "./streams/stream-registry.ts";
import { keepLease } from "./turns/lease.worker.ts";
import { ReachabilityCheck } from "./turns/reachability-check.client.ts";
import { RunningTurns } from "./turns/running-turns.ts";
import { createTurnCloser } from "./turns/turn-closer.ts";
import { TurnStartLimiter } from "./turns/turn-start-limiter.ts";

/**
 * During shutdown: how long the edge waits for the streams that it ends. Each stores its turn's outcome and sends its last events. If a complete
 * reply cannot be stored, its stream sends `error` and `done` only after 14 s (see TurnCloser.close), that is, during the wait of CLOSE_DRAIN_MS.
 */
const STREAM_END_MS = 12_000;
/** During shutdown, after STREAM_END_MS: how long the edge waits for the last CloseTurn calls. */
const CLOSE_DRAIN_MS = 10_000;
/** During shutdown: how long calls from other edges may take after the HTTP server has closed. */
const EDGE_CALLS_DRAIN_MS = 1_000;

/** Starts the edge. Shutdown runs in the reverse order: it ends the streams first, then closes the components that they use. */
export async function start(
  config: Config,
  log: Logger,
  lifecycle: Lifecycle,
  { registry, reloadRefusals }: ServiceMetrics,
): Promise<void> {
  watchCertificates(
    { grpcTlsDir: config.grpcTlsDir, opsTlsDir: config.opsTlsDir, registry, reloadRefusals },
    log,
    lifecycle,
  );
  const secretOptions = { log, lifecycle, reloadRefusals };
  const monotonicMs = () => performance.now();
  const jwks = createJwks({ url: config.jwt.jwksUrl, now: monotonicMs }, log);
  const metrics = createMetrics(registry, { jwksAgeSeconds: () => jwks.ageMs() / 1_000 });
  const internalTokens = openInternalTokens(config.internalTokens, secretOptions);
  const peerOptions = (target: string) => ({
    target,
    internalTokens,
    tlsDir: config.grpcTlsDir,
    isMultiplexed: config.isRpcMultiplexed,
    failures: metrics.rpcFailures,
  });
  const conversation = connectPeer(ConversationService, peerOptions(config.conversationTarget), lifecycle);
  // The owner API's calls are rare, so they are not multiplexed.
  const sessions = connectPeer(
    SessionAdminService,
    { ...peerOptions(config.conversationTarget), isMultiplexed: false },
    lifecycle,
  );
  const handoffs = connectPeer(
    HandoffService,
    { ...peerOptions(config.conversationTarget), isMultiplexed: false },
    lifecycle,
  );
  const quota = connectPeer(QuotaService, peerOptions(config.quotaTarget), lifecycle);
  const llm = connectPeer(LlmService, { ...peerOptions(config.llmTarget), multiplexesStreams: true }, lifecycle);

  jwks.start();
  lifecycle.onClose("key set", () => jwks.stop());

  const edgeId = randomUUID();
  const identity = {
    edgeId,
    address: config.edgeRpcHost === undefined ? "" : formatAddress(config.edgeRpcHost, config.edgeRpcPort),
    token: randomBytes(32).toString("base64url"),
  };
  const runningTurns = new RunningTurns();
  const reachability = new ReachabilityCheck(quota, llm);
  void reachability.waitForAll(log, lifecycle);
  const lease = keepLease({ conversation, edge: identity, runningTurns, reachability }, log, lifecycle);
  const streams = createStreamRegistry(
    { maxOpen: config.maxStreams, maxOpenPerClient: config.maxStreamsPerClient },
    metrics.streams,
    monotonicMs,
  );
  const turnCloser = createTurnCloser(conversation, log, () => metrics.streams.storedDoneAfterError.inc());
  const isStopping = () => lifecycle.isClosing;
  const isReady = () => lease.isConnected() && reachability.hasReachedAll && !isStopping();

  const { limiter, refusals, liveBus } = openSharedState(config.redis, metrics.limiter, secretOptions);
  const hashClient = createClientHash(internalTokens.authorization);
  const turnStartLimiter = new TurnStartLimiter(
    (reason) => metrics.streams.refused.inc({ reason }),
    (change) => metrics.streams.waitingToStart.inc(change),
  );
  const { resolveKey, findWorkspaceId } = createKeyResolver(conversation, (workspaceId, shard) =>
    turnStartLimiter.setShard(workspaceId, shard),
  );
  const store = (record: RefusalRecord) => refusals?.add(record);
  const recordRefusal = createRefusalRecorder({ findWorkspaceId, hashClient, store, log, monotonicMs });
  const unpaidReplies = createUnpaidReplyLimiter(limiter, monotonicMs);
  const turnDeps = {
    conversation,
    quota,
    llm,
    turnCloser,
    runningTurns,
    turnStartLimiter,
    unpaidReplies,
    publishLive: liveBus.publish.bind(liveBus),
    edgeId,
  };
  const edges = createEdgeClients({
    tlsDir: config.grpcTlsDir,
    tlsServerName: config.edgeRpcTlsName,
    onFailure: (method, error) => metrics.rpcFailures.inc({ method, status: status[error.status] }),
  });
  const app = await buildApp(
    {
      conversation,
      sessions,
      handoffs,
      liveBus,
      edges,
      streams,
      limiter,
      hashClient,
      challenges: createChallenges(internalTokens.authorization),
      readMonthlyCap: createMonthlyCapReader(quota, monotonicMs),
      challengeMetrics: metrics.challenges,
      malformedRequests: createMalformedRequestLimiter(limiter, monotonicMs),
      resolveKey,
      verifyToken: createTokenVerifier(config.jwt, jwks),
      turnDeps,
      detachedReplyMs: config.detachedReplyMs,
      doctorRequests: config.doctorRequests,
      attachMetrics: metrics.streams,
      monotonicMs,
      isReady,
      isStopping,
      onRefusal: (refusal, request) => {
        metrics.http.refusals.inc({ route: refusal.route, code: refusal.code });
        if (request !== undefined) recordRefusal(refusal, request);
      },
      recordRefusal,
      httpMetrics: metrics.http,
    },
    { trustedProxies: config.trustedProxies, widgetDir: config.widgetDir },
    log,
  );
  await startOpsServer(
    {
      host: config.host,
      port: config.opsPort,
      tlsDir: config.opsTlsDir,
      registry,
      isReady,
      admin: {
        // The edge, which visitors reach, must not have ADMIN_TOKEN.
        tokens: internalTokens,
        jwt: undefined,
        register: (router) => void router.service(RefusalAdminService, createRefusalAdmin(refusals)),
      },
    },
    log,
    lifecycle,
  );
  const connections = trackConnections(app.server);
  if (identity.address !== "") {
    const grpc = createGrpcServer(
      { host: config.host, port: config.edgeRpcPort, drainMs: EDGE_CALLS_DRAIN_MS, tlsDir: config.grpcTlsDir },
      lifecycle,
    );
    grpc.serve(
      EdgeService,
      {
        attachTurn: (request, { signal }) => handleAttachTurn({ turnDeps }, request, signal),
        cancelTurn: (request) => handleCancelTurn({ turnDeps }, request),
      },
      createCallGuard(fixedTokens(identity.token), createRpcServerHistogram(registry), log),
    );
    await grpc.listen();
  }
  const { publicHost: host, publicPort: port } = config;
  const listener = await listen(app, { host, port, highWaterMark: WRITE_BUFFER_BYTES });

  lifecycle.onClose("http server", () => app.close());
  lifecycle.onClose("turn closes", () => turnCloser.drain(CLOSE_DRAIN_MS), CLOSE_DRAIN_MS + 1_000);
  lifecycle.onClose(
    "streams",
    async () => {
      const graceEndsAtMs = monotonicMs() + config.drainMs;
      streams.resetForwardedStreams();
      listener.stop();
      await connections.drain(config.drainMs);
      // A reply with an idempotency key may still be running without a reader.
      await streams.drain(graceEndsAtMs - monotonicMs(), STREAM_END_MS, () => runningTurns.endKeyedTurns());
    },
    config.drainMs + STREAM_END_MS + 1_000,
  );
}

/** Opens what all edges share through Redis. Without Redis, this edge limits requests alone, and stores no refusals. */
function openSharedState(
  redis: Config["redis"],
  metrics: Metrics["limiter"],
  options: SecretOptions & { log: Logger; lifecycle: Lifecycle },
): { limiter: RateLimiter; refusals?: RefusalStore; liveBus: LiveBus } {
  const local = createLocalLimiter(() => performance.now());
  if (redis === undefined) return { limiter: local, liveBus: new LocalLiveBus() };
  const urls = openSecret(redis.urls, options);
  const sentinelPassword = redis.sentinelPassword && openSecret(redis.sentinelPassword, options);
  const settings = () => ({ ...redis, urls: urls.current(), sentinelPassword: sentinelPassword?.current() });
  const shared = createRedisLimiter(settings(), options.log);
  const liveBus = createRedisLiveBus(() => shared.connection(), connectRedis(settings()));
  for (const secret of [urls, sentinelPassword])
    secret?.onChange(() => {
      shared.reconnect(settings(), secret.reportRefusal);
      liveBus.reconnect(connectRedis(settings()));
    });
  options.lifecycle.onClose("redis", () => {
    shared.close();
    liveBus.close();
  });
  return {
    limiter: createFallbackLimiter(shared, local, metrics),
    refusals: createRefusalStore(() => shared.connection()),
    liveBus,
  };
}
