import { randomUUID } from "node:crypto";
import { ConversationService } from "@parley/rpc/conversation";
import { LlmService } from "@parley/rpc/llm";
import { QuotaService } from "@parley/rpc/quota";
import {
  Counter,
  connectPeer,
  createRegistry,
  Gauge,
  type Lifecycle,
  type Logger,
  type Registry,
  startOpsServer,
} from "@parley/service-kit";
import { v7 as uuidv7 } from "uuid";
import { buildApp } from "./app.ts";
import { createTokenVerifier } from "./auth/access-token.ts";
import { createJwks } from "./auth/jwks.ts";
import { createKeyResolver } from "./auth/keys.ts";
import type { Config } from "./config.ts";
import { keepLease } from "./lease.ts";
import { createFallbackLimiter } from "./limits/fallback-limiter.ts";
import { createLocalLimiter } from "./limits/local-limiter.ts";
import type { RateLimiter } from "./limits/rate-limiter.ts";
import { createRedisLimiter } from "./limits/redis-limiter.ts";
import { createStreamMetrics } from "./routes/stream-metrics.ts";
import { createStreams } from "./routes/streams.ts";
import { createTurnCloser } from "./turn/close-turn.ts";

/** For storing how a stream ended and telling its reader. */
const LAST_WORDS_MS = 12_000;
const LAST_OUTCOMES_MS = 10_000;

/** Starts the edge. It stops in the opposite order: streams first, then what they need. */
export async function start(config: Config, log: Logger, lifecycle: Lifecycle): Promise<void> {
  const registry = createRegistry("edge");
  const monotonicMs = () => performance.now();
  const peer = (target: string) => ({
    target,
    internalToken: config.internalToken,
    tlsDir: config.grpcTlsDir,
  });
  const conversation = connectPeer(ConversationService, peer(config.conversationTarget), lifecycle);
  const quota = connectPeer(QuotaService, peer(config.quotaTarget), lifecycle);
  const llm = connectPeer(LlmService, peer(config.llmTarget), lifecycle);

  const jwks = createJwks({ url: config.jwt.jwksUrl, now: monotonicMs }, log);
  jwks.start();
  lifecycle.onClose("key set", () => jwks.stop());

  const edgeId = randomUUID();
  const lease = keepLease(conversation, edgeId, log, lifecycle);
  const streams = createStreams(
    { process: config.maxStreams, client: config.maxStreamsPerClient },
    createStreamMetrics(registry),
    monotonicMs,
  );
  const closer = createTurnCloser(conversation, log);
  const refusals = new Counter({
    name: "parley_requests_refused_total",
    help: "Requests answered with an error before any stream, by its code.",
    labelNames: ["code"],
    registers: [registry],
  });
  const stopping = () => lifecycle.isClosing;
  const ready = () => lease.held() && !stopping();

  const app = await buildApp(
    {
      conversation,
      streams,
      limiter: createLimiter(config, registry, log, lifecycle),
      resolveKey: createKeyResolver(conversation),
      verifyToken: createTokenVerifier(config.jwt, jwks),
      turn: { conversation, quota, llm, closer, edgeId, newTurnId: uuidv7 },
      monotonicMs,
      ready,
      stopping,
      onRefusal: (code) => refusals.inc({ code }),
    },
    { trustedProxies: config.trustedProxies, widgetDir: config.widgetDir },
    log,
  );
  await startOpsServer(
    { host: config.host, port: config.opsPort, adminToken: config.adminToken, registry, ready },
    log,
    lifecycle,
  );
  await app.listen({ host: config.publicHost, port: config.publicPort });

  lifecycle.onClose("http server", () => app.close());
  lifecycle.onClose("last outcomes", () => closer.settled(LAST_OUTCOMES_MS), LAST_OUTCOMES_MS + 1_000);
  lifecycle.onClose(
    "streams",
    () => streams.drain(config.drainMs, LAST_WORDS_MS),
    config.drainMs + LAST_WORDS_MS + 1_000,
  );
}

function createLimiter(config: Config, registry: Registry, log: Logger, lifecycle: Lifecycle): RateLimiter {
  const local = createLocalLimiter(() => performance.now());
  if (config.redisUrl === undefined) return local;
  const shared = createRedisLimiter(config.redisUrl, log);
  lifecycle.onClose("redis", () => shared.close());
  const registers = [registry];
  return createFallbackLimiter(shared, local, {
    onFallback: new Gauge({
      name: "parley_rate_limiter_on_fallback",
      help: "1 while Redis does not answer and this edge limits alone.",
      registers,
    }),
    localDecisions: new Counter({
      name: "parley_rate_limiter_local_decisions_total",
      help: "Requests that this edge counted alone because Redis did not answer in time.",
      registers,
    }),
  });
}
