import { randomInt, randomUUID } from "node:crypto";
import type { ConnectRouter } from "@connectrpc/connect";
import { PatternThreadPool } from "@parley/bot-rules/moderation";
import {
  AuditAdminService,
  BotAdminService,
  ConversationService,
  KeyAdminService,
  KnowledgeAdminService,
  ModerationAdminService,
  SessionAdminService,
  ToolAdminService,
  TurnAdminService,
} from "@parley/rpc/conversation";
import { LlmService } from "@parley/rpc/llm";
import { QuotaService } from "@parley/rpc/quota";
import {
  checkTimeouts,
  connectPeer,
  createGrpcServer,
  createPoolMetrics,
  createReadinessProbe,
  createRegistry,
  guardCalls,
  type Lifecycle,
  type Logger,
  openDatabase,
  type PeriodicTask,
  rpcClientFailures,
  rpcServerHistogram,
  runPeriodically,
  startOpsServer,
} from "@parley/service-kit";
import { migrations } from "../migrations/index.ts";
import { auditAdmin } from "./audit/audit.admin.ts";
import { createAuditTask } from "./audit/audit.worker.ts";
import { moderationAdmin } from "./bot-rules/moderation.admin.ts";
import { toolAdmin } from "./bot-rules/tools.admin.ts";
import { cachedBotConfigs } from "./bots/bot-configs.service.ts";
import { botAdmin } from "./bots/bots.admin.ts";
import { handleResolveBot } from "./bots/resolve-bot.rpc.ts";
import type { Config } from "./config.ts";
import { keyAdmin } from "./keys/keys.admin.ts";
import { createPublicKey } from "./keys/public-key.ts";
import { handleResolveKey } from "./keys/resolve-key.rpc.ts";
import { EmbeddingWorker } from "./knowledge/embeddings.worker.ts";
import { knowledgeAdmin } from "./knowledge/knowledge.admin.ts";
import { SemanticSearch } from "./knowledge/semantic-search.service.ts";
import { closedTurns, embeddingGauge, retentionFailures, semanticSearches } from "./metrics.ts";
import { eraseExpired } from "./retention/retention.worker.ts";
import { handleExportSession } from "./sessions/export-session.rpc.ts";
import { handleRateMessage } from "./sessions/rate-message.rpc.ts";
import { sessionAdmin } from "./sessions/sessions.admin.ts";
import { Settler } from "./settlement/settler.worker.ts";
import { handleRenewEdge } from "./sweeping/renew-edge.rpc.ts";
import { Sweeper } from "./sweeping/sweeper.worker.ts";
import { handleCloseTurn } from "./turns/close-turn.rpc.ts";
import { handleOpenTurn } from "./turns/open-turn.rpc.ts";
import { turnAdmin } from "./turns/turns.admin.ts";

const SETTLER_STOP_MS = 10_000;
const AUDIT_EVERY_MS = 5 * 60_000;
const RETENTION_EVERY_MS = 60 * 60_000;
const EMBED_EVERY_MS = 5_000;

/** Starts the conversation service: the data plane on the gRPC port, the admin services on the ops port. */
export async function start(config: Config, log: Logger, lifecycle: Lifecycle): Promise<void> {
  const registry = createRegistry("conversation");
  const watchPool = createPoolMetrics(registry);
  // An export occupies a connection for as long as its client reads. A separate pool keeps connections free for turns.
  const exportConnections = Math.max(1, Math.floor(config.databasePool / 5));
  const open = (pool: string, applicationName: string, maxConnections: number) => {
    const database = openDatabase({ url: config.databaseUrl, applicationName, maxConnections }, log);
    watchPool(pool, database);
    lifecycle.onClose(applicationName, () => database.end());
    return database;
  };
  const database = open("main", "parley-conversation", config.databasePool - exportConnections);
  const exportDatabase = open("export", "parley-conversation-export", exportConnections);
  void checkTimeouts(database, log);

  const { internalToken, grpcTlsDir: tlsDir, isRpcMultiplexed: isMultiplexed } = config;
  const peer = { internalToken, tlsDir, isMultiplexed, failures: rpcClientFailures(registry) };
  const quota = connectPeer(QuotaService, { ...peer, target: config.quotaTarget }, lifecycle);
  const llm = connectPeer(LlmService, { ...peer, target: config.llmTarget }, lifecycle);
  const embeddings = new EmbeddingWorker(database, llm, log);
  embeddingGauge(registry, () => embeddings.countUnembedded(), log);
  const now = () => performance.now();
  const semanticSearch = new SemanticSearch({ database, llm, searches: semanticSearches(registry), log, now });
  const botConfigs = cachedBotConfigs(database);
  const patternThreads = new PatternThreadPool({ registry, log, lifecycle });
  const counter = closedTurns(registry);
  const settler = new Settler(database, quota, registry, log);
  const sweeper = new Sweeper(
    database,
    config.leaseSeconds,
    (closed) => {
      settler.push(closed);
      counter.inc({ outcome: "interrupted" }, closed.length);
    },
    log,
  );
  lifecycle.onClose("settler", () => settler.stop(), SETTLER_STOP_MS);

  const runAudit = createAuditTask(exportDatabase, quota, registry, log);

  const { host, keyPrefix } = config;
  const onClosed = settler.push.bind(settler);
  const newKey = () => createPublicKey(keyPrefix, (below) => randomInt(below));
  const registerAdmin = (router: ConnectRouter) => {
    router.service(BotAdminService, botAdmin(database, quota, randomUUID));
    router.service(KeyAdminService, keyAdmin(database, keyPrefix, newKey));
    router.service(ModerationAdminService, moderationAdmin(database, patternThreads));
    router.service(ToolAdminService, toolAdmin(database));
    router.service(KnowledgeAdminService, knowledgeAdmin({ database, egress: config.egress, embeddings }));
    router.service(SessionAdminService, sessionAdmin({ database, exportDatabase, onClosed }));
    router.service(TurnAdminService, turnAdmin(database));
    router.service(AuditAdminService, auditAdmin(database, quota));
  };
  await startOpsServer(
    {
      host,
      port: config.opsPort,
      tlsDir: config.opsTlsDir,
      registry,
      isReady: createReadinessProbe(database, { schema: "conversation", migrations }, log),
      admin: { token: config.adminToken, register: registerAdmin },
    },
    log,
    lifecycle,
  );

  const grpc = createGrpcServer(
    { host, port: config.grpcPort, drainMs: config.drainMs, tlsDir: config.grpcTlsDir },
    lifecycle,
  );
  grpc.serve(
    ConversationService,
    {
      resolveKey: (request) => handleResolveKey(database, keyPrefix, request),
      resolveBot: (request) => handleResolveBot(database, request),
      renewEdge: (request) => handleRenewEdge(database, config.leaseSeconds, request),
      openTurn: (request) => handleOpenTurn({ database, botConfigs, patternThreads, semanticSearch }, request),
      closeTurn: (request) => handleCloseTurn({ database, counter, onClosed }, request),
      rateMessage: (request) => handleRateMessage(database, request),
      exportSession: (request, { signal }) => handleExportSession(exportDatabase, request, signal),
    },
    guardCalls(config.internalToken, rpcServerHistogram(registry), log),
  );
  await grpc.listen();
  settler.start();
  const failures = retentionFailures(registry);
  const tasks: PeriodicTask[] = [
    { name: "sweep", everyMs: (config.leaseSeconds * 1_000) / 6, run: () => sweeper.tick() },
    { name: "reconcile turns with usage", everyMs: () => AUDIT_EVERY_MS * (0.8 + Math.random() * 0.4), run: runAudit },
    {
      name: "erase expired sessions",
      everyMs: RETENTION_EVERY_MS,
      run: (signal) => eraseExpired({ database, quota, onClosed, failures, log }, signal),
    },
    { name: "embed knowledge", everyMs: EMBED_EVERY_MS, run: (signal) => embeddings.run(signal) },
  ];
  for (const task of tasks) runPeriodically(task, log, lifecycle);
}
