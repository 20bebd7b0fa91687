import { randomInt, randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { PatternThreadPool } from "@parley/bot-rules/moderation";
import {
  AuditAdminService,
  BotAdminService,
  ChangeAdminService,
  ConversationService,
  EraseVisitorRequestSchema,
  EvaluationAdminService,
  KeyAdminService,
  KnowledgeAdminService,
  ModerationAdminService,
  QuestionAdminService,
  SessionAdminService,
  ToolAdminService,
  TurnAdminService,
  WorkspaceDeletionAdminService,
} from "@parley/rpc/conversation";
import { LlmService } from "@parley/rpc/llm";
import { QuotaService } from "@parley/rpc/quota";
import {
  CallPool,
  connectPeer,
  createCallGuard,
  createGrpcServer,
  createPoolMetrics,
  createReadinessProbe,
  createRegistry,
  createRpcClientFailureCounter,
  createRpcServerHistogram,
  type Lifecycle,
  type Logger,
  logMissingTimeouts,
  openChangeLog,
  openDatabase,
  openTokens,
  runPeriodically,
  startOpsServer,
  UPLOAD_OPTIONS,
  WorkspaceConcurrencyLimiter,
} from "@parley/service-kit";
import { migrations } from "../migrations/index.ts";
import { createAuditAdmin } from "./audit/audit.admin.ts";
import { registerAuditGauge } from "./audit/audit.worker.ts";
import { createModerationAdmin } from "./bot-rules/moderation.admin.ts";
import { createToolAdmin } from "./bot-rules/tools.admin.ts";
import { createBotConfigCache } from "./bots/bot-configs.service.ts";
import { createBotAdmin } from "./bots/bots.admin.ts";
import { handleResolveBot } from "./bots/resolve-bot.rpc.ts";
import type { Config } from "./config.ts";
import { handleEraseVisitor } from "./erasures/erase-visitor.rpc.ts";
import { VisitorErasure } from "./erasures/erasures.worker.ts";
import { createEvaluationAdmin } from "./evaluations/evaluations.admin.ts";
import { KeyUses } from "./keys/key-uses.worker.ts";
import { createKeyAdmin } from "./keys/keys.admin.ts";
import { createPublicKey } from "./keys/public-key.ts";
import { handleResolveKey } from "./keys/resolve-key.rpc.ts";
import { EmbeddingWorker } from "./knowledge/embeddings.worker.ts";
import { createKnowledgeAdmin } from "./knowledge/knowledge.admin.ts";
import { SemanticSearch } from "./knowledge/semantic-search.service.ts";
import {
  createClosedTurnCounter,
  createPrunedRowCounter,
  createRetentionFailureCounter,
  createSemanticSearchCounter,
  registerEmbeddingGauge,
} from "./metrics.ts";
import { createPeriodicTasks } from "./periodic-tasks.ts";
import { QuestionSearch } from "./questions/index.ts";
import { createQuestionAdmin } from "./questions/questions.admin.ts";
import {
  createCallLogComparison,
  createRepairCounter,
  type Repair,
  registerReconciliationGauges,
} from "./reconciliation/index.ts";
import { handleExportSessions } from "./session-exports/export-sessions.rpc.ts";
import { handleSearchSessions } from "./session-search/search-sessions.rpc.ts";
import { handleExportSession } from "./sessions/export-session.rpc.ts";
import { handleRateMessage } from "./sessions/rate-message.rpc.ts";
import { createSessionAdmin } from "./sessions/sessions.admin.ts";
import { handleSoftDeleteSession } from "./sessions/soft-delete-session.rpc.ts";
import { Settler } from "./settlement/settler.worker.ts";
import { handleRenewEdge } from "./sweeping/renew-edge.rpc.ts";
import { Sweeper } from "./sweeping/sweeper.worker.ts";
import { handleCloseTurn } from "./turns/close-turn.rpc.ts";
import { handleFindTurn } from "./turns/find-turn.rpc.ts";
import { handleOpenTurn } from "./turns/open-turn.rpc.ts";
import { createTurnAdmin } from "./turns/turns.admin.ts";
import { DeletedWorkspaces } from "./workspace-deletions/deleted-workspaces.service.ts";
import { createDeletionAdmin } from "./workspace-deletions/deletions.admin.ts";

const SETTLER_STOP_MS = 10_000;
/** The share of the main pool that periodic tasks may use, so that slow ones leave connections to turns. */
const SHARE_OF_TASKS = 0.5;

/** Starts the conversation service: the data plane on the gRPC port, the admin services on the ops port. */
export async function start(config: Config, log: Logger, lifecycle: Lifecycle): Promise<void> {
  const registry = createRegistry("conversation");
  const observePool = createPoolMetrics(registry);
  // A separate pool keeps connections free for turns while large sessions are exported.
  const exportConnections = Math.max(1, Math.floor(config.databasePool / 5));
  const openPool = (pool: string, applicationName: string, maxConnections: number) => {
    const { databaseUrl: url, usesPreparedStatements } = config;
    const database = openDatabase({ url, applicationName, maxConnections, usesPreparedStatements }, log);
    observePool(pool, database);
    lifecycle.onClose(applicationName, () => database.end());
    return database;
  };
  const database = openPool("main", "parley-conversation", config.databasePool - exportConnections);
  const exportDatabase = openPool("export", "parley-conversation-export", exportConnections);
  const exports = { database: exportDatabase, limiter: new WorkspaceConcurrencyLimiter(1) };
  void logMissingTimeouts(database, log);

  const { grpcTlsDir: tlsDir, isRpcMultiplexed: isMultiplexed } = config;
  const internalTokens = openTokens(config.internalTokens, log, lifecycle);
  const peerOptions = { internalTokens, tlsDir, isMultiplexed, failures: createRpcClientFailureCounter(registry) };
  const quota = connectPeer(QuotaService, { ...peerOptions, target: config.quotaTarget }, lifecycle);
  const llm = connectPeer(LlmService, { ...peerOptions, target: config.llmTarget }, lifecycle);
  const embeddings = new EmbeddingWorker(database, llm, log);
  registerEmbeddingGauge(registry, () => embeddings.countUnembedded(), log);
  const now = () => performance.now();
  const searchDeps = { database, llm, searches: createSemanticSearchCounter(registry), log, now };
  const semanticSearch = new SemanticSearch(searchDeps);
  // Has a circuit breaker of its own, so that owners' questions do not pause the search of visitors' messages.
  const questionSearch = new QuestionSearch(database, new SemanticSearch(searchDeps));
  const botConfigs = createBotConfigCache(database);
  const patternThreads = new PatternThreadPool({ registry, log, lifecycle });
  const closedTurnCounter = createClosedTurnCounter(registry);
  const settler = new Settler(database, quota, registry, log);
  const sweeper = new Sweeper(
    database,
    config.leaseSeconds,
    (closed) => {
      settler.push(closed);
      closedTurnCounter.inc({ outcome: "interrupted" }, closed.length);
    },
    log,
  );
  lifecycle.onClose("sweeper", () => sweeper.stop());
  lifecycle.onClose("settler", () => settler.stop(), SETTLER_STOP_MS);

  registerAuditGauge(registry, database, log);
  const { host, keyPrefix } = config;
  const onClosed = settler.push.bind(settler);
  const repairs = createRepairCounter(registry);
  const reconcileDeps = {
    database,
    quota,
    onEnqueued: onClosed,
    onRepaired: (repaired: readonly Repair[]) => {
      for (const { workspaceId, turnId, kind, action } of repaired) {
        repairs.inc({ kind });
        log.warn({ workspace_id: workspaceId, turn_id: turnId, kind, action }, "usage difference repaired");
      }
    },
  };
  registerReconciliationGauges(registry, database, log);
  const keyUses = new KeyUses(database);
  const newKey = () => createPublicKey(keyPrefix, (below) => randomInt(below));
  const changes = openChangeLog(database, "conversation", log, lifecycle);
  const visitorErasure = new VisitorErasure({ database, onClosed, log });
  const eraseVisitor = async (workspaceId: string, visitorId: string) => {
    // Without a member: the guard of the admin services writes the line in the audit log.
    const request = create(EraseVisitorRequestSchema, { workspaceId, requestId: randomUUID(), visitorId });
    return (await handleEraseVisitor(database, visitorErasure, request)).sessions;
  };
  const registerAdmin = (router: ConnectRouter) => {
    router.service(
      BotAdminService,
      createBotAdmin({ database, quota, planModels: config.planModels, newId: randomUUID }),
    );
    router.service(KeyAdminService, createKeyAdmin(database, keyPrefix, newKey));
    router.service(ModerationAdminService, createModerationAdmin(database, patternThreads));
    router.service(ToolAdminService, createToolAdmin(database));
    router.service(
      KnowledgeAdminService,
      createKnowledgeAdmin({ database, egress: config.egress, embeddings }),
      UPLOAD_OPTIONS,
    );
    router.service(QuestionAdminService, createQuestionAdmin({ database, questionSearch, exports }));
    router.service(EvaluationAdminService, createEvaluationAdmin(database, questionSearch));
    router.service(SessionAdminService, createSessionAdmin({ database, exports, onClosed, eraseVisitor }));
    router.service(ChangeAdminService, { listChanges: changes.listChanges });
    router.service(TurnAdminService, createTurnAdmin(database));
    router.service(WorkspaceDeletionAdminService, createDeletionAdmin({ database, quota }));
    router.service(
      AuditAdminService,
      createAuditAdmin({
        ...reconcileDeps,
        quota,
        fillCallLog: createCallLogComparison(llm),
        ...config.reconciliation,
      }),
    );
  };
  const deletedWorkspaces = new DeletedWorkspaces(database);
  let isServing = false;
  const isDatabaseReady = createReadinessProbe(database, { schema: "conversation", migrations }, log);
  await startOpsServer(
    {
      host,
      port: config.opsPort,
      tlsDir: config.opsTlsDir,
      registry,
      isReady: async () => (await isDatabaseReady()) && isServing,
      admin: {
        tokens: openTokens(config.adminTokens, log, lifecycle),
        jwt: config.jwt,
        changes,
        isHidden: (workspaceId) => deletedWorkspaces.has(workspaceId),
        register: registerAdmin,
      },
    },
    log,
    lifecycle,
  );

  const tasks = createPeriodicTasks(
    {
      ...reconcileDeps,
      database: new CallPool(database, SHARE_OF_TASKS).databaseFor(new AbortController().signal),
      llm,
      sweeper,
      visitorErasure,
      keyUses,
      deletedWorkspaces,
      embeddings,
      retentionFailures: createRetentionFailureCounter(registry),
      prunedRows: createPrunedRowCounter(registry),
      log,
    },
    config,
  );
  // Registered before the gRPC server, so closed after it: a stopping process drains its calls without waiting for the tasks.
  for (const task of tasks) runPeriodically(task, log, lifecycle);

  const calls = new CallPool(database);
  const guard = createCallGuard(internalTokens, createRpcServerHistogram(registry), log);
  const grpc = createGrpcServer(
    { host, port: config.grpcPort, drainMs: config.drainMs, tlsDir: config.grpcTlsDir },
    lifecycle,
  );
  grpc.serve(
    ConversationService,
    {
      // CloseTurn, RenewEdge and EraseVisitor ignore the signal: they complete even if the caller cancels.
      resolveKey: async (request, { signal }) => {
        calls.refuseIfOverloaded();
        return handleResolveKey({ database: calls.databaseFor(signal), keyPrefix, keyUses }, request);
      },
      resolveBot: async (request, { signal }) => {
        calls.refuseIfOverloaded();
        return handleResolveBot(calls.databaseFor(signal), request);
      },
      renewEdge: (request) => handleRenewEdge(database, config.leaseSeconds, request),
      openTurn: async (request, { signal }) => {
        calls.refuseIfOverloaded();
        return handleOpenTurn(
          { database: calls.databaseFor(signal), botConfigs, patternThreads, semanticSearch },
          request,
        );
      },
      findTurn: (request, { signal }) => handleFindTurn(calls.databaseFor(signal), request),
      closeTurn: (request) => handleCloseTurn({ database, counter: closedTurnCounter, onClosed }, request),
      rateMessage: (request, { signal }) => handleRateMessage(calls.databaseFor(signal), request),
      exportSession: (request, { signal }) => handleExportSession(exports, request, signal),
      searchSessions: (request, { signal }) => handleSearchSessions(exports, request, signal),
      exportSessions: (request, { signal }) => handleExportSessions(exports, request, signal),
      softDeleteSession: (request, { signal }) => handleSoftDeleteSession(calls.databaseFor(signal), request),
      eraseVisitor: (request) => handleEraseVisitor(database, visitorErasure, request),
    },
    {
      ...guard,
      intercept: (context, next) => guard.intercept(context, () => deletedWorkspaces.hide(context, next)),
    },
  );
  await grpc.listen();
  isServing = true;
  settler.start();
}
