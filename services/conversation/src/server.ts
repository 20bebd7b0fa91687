import { randomInt, randomUUID } from "node:crypto";
import type { ConnectRouter } from "@connectrpc/connect";
import { implementService } from "@parley/rpc";
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
  connectPeer,
  createGrpcServer,
  createRegistry,
  guardCalls,
  type Lifecycle,
  type Logger,
  openDatabase,
  type PeriodicTask,
  poolMetrics,
  readiness,
  rpcClientFailures,
  rpcServerHistogram,
  runPeriodically,
  startOpsServer,
} from "@parley/service-kit";
import { auditAdmin } from "./admin/audit.ts";
import { botAdmin } from "./admin/bots.ts";
import { keyAdmin } from "./admin/keys.ts";
import { knowledgeAdmin } from "./admin/knowledge.ts";
import { moderationAdmin } from "./admin/moderation.ts";
import { sessionAdmin } from "./admin/sessions.ts";
import { toolAdmin } from "./admin/tools.ts";
import { turnAdmin } from "./admin/turns.ts";
import { booksWatch } from "./books-watch.ts";
import { cachedBotConfigs } from "./bot-configs.ts";
import type { Config } from "./config.ts";
import { makePublicKey } from "./domain/public-key.ts";
import { EmbeddingWorker } from "./knowledge/embedding-worker.ts";
import { Meanings } from "./knowledge/meanings.ts";
import { closedTurns, embeddingGauge, meaningSearches } from "./metrics.ts";
import { eraseExpired } from "./retention.ts";
import { handleCloseTurn } from "./rpc/close-turn.ts";
import { handleExportSession } from "./rpc/export-session.ts";
import { handleOpenTurn } from "./rpc/open-turn.ts";
import { handleRateMessage } from "./rpc/rate-message.ts";
import { handleRenewEdge } from "./rpc/renew-edge.ts";
import { handleResolveBot } from "./rpc/resolve-bot.ts";
import { handleResolveKey } from "./rpc/resolve-key.ts";
import { Settler } from "./settler.ts";
import { Sweeper } from "./sweeper.ts";

const SETTLER_STOP_MS = 10_000;
const AUDIT_EVERY_MS = 5 * 60_000;
const RETENTION_EVERY_MS = 60 * 60_000;
const EMBED_EVERY_MS = 5_000;

/** Starts the conversation service: its data plane on the gRPC port, its admin services on the ops port. */
export async function start(config: Config, log: Logger, lifecycle: Lifecycle): Promise<void> {
  const registry = createRegistry("conversation");
  const watchPool = poolMetrics(registry);
  // Exports hold a connection for as long as their reader takes; with a pool of their own they cannot keep turns waiting.
  const exportConnections = Math.max(1, Math.floor(config.databasePool / 5));
  const open = (pool: string, applicationName: string, maxConnections: number) => {
    const database = openDatabase({ url: config.databaseUrl, applicationName, maxConnections }, log);
    watchPool(pool, database);
    lifecycle.onClose(applicationName, () => database.end());
    return database;
  };
  const database = open("main", "parley-conversation", config.databasePool - exportConnections);
  const exportDatabase = open("export", "parley-conversation-export", exportConnections);

  const { internalToken, grpcTlsDir: tlsDir } = config;
  const failures = rpcClientFailures(registry);
  const quota = connectPeer(QuotaService, { target: config.quotaTarget, internalToken, tlsDir, failures }, lifecycle);
  const llm = connectPeer(LlmService, { target: config.llmTarget, internalToken, tlsDir, failures }, lifecycle);
  const embeddings = new EmbeddingWorker(database, llm, log);
  embeddingGauge(registry, () => embeddings.countLeft(), log);
  const now = () => performance.now();
  const meanings = new Meanings({ database, llm, searches: meaningSearches(registry), log, now });
  const botConfigs = cachedBotConfigs(database);
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

  const auditBooks = booksWatch(exportDatabase, quota, registry, log);

  const { host, keyPrefix } = config;
  const onClosed = settler.push.bind(settler);
  const newKey = () => makePublicKey(keyPrefix, (below) => randomInt(below));
  const admin = (router: ConnectRouter) => {
    router.service(BotAdminService, botAdmin(database, quota, randomUUID));
    router.service(KeyAdminService, keyAdmin(database, keyPrefix, newKey));
    router.service(ModerationAdminService, moderationAdmin(database));
    router.service(ToolAdminService, toolAdmin(database));
    router.service(KnowledgeAdminService, knowledgeAdmin({ database, egress: config.egress, embeddings }));
    router.service(SessionAdminService, sessionAdmin({ database, exportDatabase, onClosed }));
    router.service(TurnAdminService, turnAdmin(database));
    router.service(AuditAdminService, auditAdmin(database, quota));
  };
  await startOpsServer(
    { host, port: config.opsPort, adminToken: config.adminToken, registry, ready: readiness(database), admin },
    log,
    lifecycle,
  );

  const grpc = createGrpcServer(
    { host, port: config.grpcPort, drainMs: config.drainMs, tlsDir: config.grpcTlsDir },
    lifecycle,
  );
  implementService(
    grpc.server,
    ConversationService,
    {
      resolveKey: (request) => handleResolveKey(database, keyPrefix, request),
      resolveBot: (request) => handleResolveBot(database, request),
      renewEdge: (request) => handleRenewEdge(database, config.leaseSeconds, request),
      openTurn: (request) => handleOpenTurn({ database, botConfigs, meanings }, request),
      closeTurn: (request) => handleCloseTurn({ database, counter, onClosed }, request),
      rateMessage: (request) => handleRateMessage(database, request),
      exportSession: (request, { signal }) => handleExportSession(exportDatabase, request, signal),
    },
    guardCalls(config.internalToken, rpcServerHistogram(registry), log),
  );
  await grpc.listen();
  settler.start();
  const tasks: PeriodicTask[] = [
    { name: "sweep", everyMs: (config.leaseSeconds * 1_000) / 6, run: () => sweeper.tick() },
    { name: "audit the books", everyMs: () => AUDIT_EVERY_MS * (0.8 + Math.random() * 0.4), run: auditBooks },
    {
      name: "erase expired conversations",
      everyMs: RETENTION_EVERY_MS,
      run: (signal) => eraseExpired({ database, quota, onClosed, log }, signal),
    },
    { name: "embed knowledge", everyMs: EMBED_EVERY_MS, run: (signal) => embeddings.run(signal) },
  ];
  for (const task of tasks) runPeriodically(task, log, lifecycle);
}
