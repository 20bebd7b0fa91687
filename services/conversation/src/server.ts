import type { ConnectRouter } from "@connectrpc/connect";
import { PatternThreadPool } from "@parley/bot-rules/moderation";
import { ConversationService } from "@parley/rpc/conversation";
import { LlmService } from "@parley/rpc/llm";
import { QuotaService } from "@parley/rpc/quota";
import {
  CallPool,
  connectPeer,
  createCallGuard,
  createGrpcServer,
  createPoolMetrics,
  createReadinessProbe,
  createRpcClientFailureCounter,
  createRpcServerHistogram,
  type Lifecycle,
  type Logger,
  logMissingTimeouts,
  openChangeLog,
  openDatabase,
  openTokens,
  runPeriodically,
  type ServiceMetrics,
  startOpsServer,
  WorkspaceConcurrencyLimiter,
  watchCertificates,
} from "@parley/service-kit";
import { migrations } from "../migrations/index.ts";
import { registerAdminServices } from "./admin-services.ts";
import { registerAuditGauge } from "./audit/audit.worker.ts";
import { createBotConfigCache } from "./bots/bot-configs.service.ts";
import type { Config } from "./config.ts";
import { VisitorErasure } from "./erasures/erasures.worker.ts";
import { KeyUses } from "./keys/key-uses.worker.ts";
import { EmbeddingWorker } from "./knowledge/embeddings.worker.ts";
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
import {
  createCallLogComparison,
  createRepairCounter,
  type Repair,
  registerReconciliationGauges,
} from "./reconciliation/index.ts";
import { createRpcHandlers } from "./rpc-handlers.ts";
import { ExportPacer } from "./sessions/index.ts";
import { Settler } from "./settlement/settler.worker.ts";
import { Sweeper } from "./sweeping/sweeper.worker.ts";
import { DeletedWorkspaces } from "./workspace-deletions/deleted-workspaces.service.ts";

/** How long a stopping process waits for the settler. */
const SETTLER_STOP_MS = 10_000;
/**
 * The share of the main pool's connections that periodic tasks may use together, so that slow statements leave connections for turns. The
 * sweeper, the embeddings, the erasure of visitors, the uses of keys and the list of deleted workspaces use the main pool without this limit.
 */
const TASK_CONNECTION_SHARE = 0.5;

/** Starts the conversation service: the data plane on the gRPC port, the admin services on the ops port. */
export async function start(
  config: Config,
  log: Logger,
  lifecycle: Lifecycle,
  { registry, refusals }: ServiceMetrics,
): Promise<void> {
  watchCertificates({ tlsDirs: [config.grpcTlsDir, config.opsTlsDir], registry, refusals }, log, lifecycle);
  const secretOptions = { log, lifecycle, refusals };
  // A separate pool keeps connections free for turns while owners export and read lists, statistics and transcripts.
  const exportConnections = Math.max(1, Math.floor(config.databasePool / 5));
  const openPool = (applicationName: string, maxConnections: number) => {
    const { databaseUrl: url, usesPreparedStatements } = config;
    const database = openDatabase(
      { url, applicationName, maxConnections, usesPreparedStatements, closingSignal: lifecycle.closingSignal },
      log,
    );
    lifecycle.onClose(applicationName, () => database.end());
    return database;
  };
  const database = openPool("parley-conversation", config.databasePool - exportConnections);
  const exportDatabase = openPool("parley-conversation-export", exportConnections);
  const calls = new CallPool(database);
  const observePool = createPoolMetrics(registry);
  observePool("main", database, calls);
  observePool("export", exportDatabase);
  const pacer = new ExportPacer();
  const exports = { database: exportDatabase, limiter: new WorkspaceConcurrencyLimiter(1), pacer };
  void logMissingTimeouts(database, log);

  const { grpcTlsDir: tlsDir, isRpcMultiplexed: isMultiplexed } = config;
  const internalTokens = openTokens(config.internalTokens, secretOptions);
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
  const { host } = config;
  const onTurnsClosed = settler.push.bind(settler);
  const repairs = createRepairCounter(registry);
  const reconcileDeps = {
    database,
    quota,
    onEnqueued: onTurnsClosed,
    onRepaired: (repaired: readonly Repair[]) => {
      for (const { workspaceId, turnId, kind, action } of repaired) {
        repairs.inc({ kind });
        log.warn({ workspace_id: workspaceId, turn_id: turnId, kind, action }, "usage difference repaired");
      }
    },
  };
  registerReconciliationGauges(registry, database, log);
  const keyUses = new KeyUses(database);
  const changes = openChangeLog(database, "conversation", log, lifecycle);
  const visitorErasure = new VisitorErasure({ database, onTurnsClosed, log });
  const registerAdmin = (router: ConnectRouter) =>
    registerAdminServices(router, {
      database,
      quota,
      patternThreads,
      embeddings,
      questionSearch,
      exports,
      onTurnsClosed,
      visitorErasure,
      changes,
      repairDeps: { ...reconcileDeps, fillCallLog: createCallLogComparison(llm) },
      config,
    });
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
        tokens: openTokens(config.adminTokens, secretOptions),
        jwt: config.jwt,
        changes,
        isDeleted: (workspaceId) => deletedWorkspaces.has(workspaceId),
        register: registerAdmin,
      },
    },
    log,
    lifecycle,
  );

  const tasks = createPeriodicTasks(
    {
      ...reconcileDeps,
      // The signal is never aborted, because tasks have no caller that could cancel.
      database: new CallPool(database, TASK_CONNECTION_SHARE).databaseFor(new AbortController().signal),
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

  const guard = createCallGuard(internalTokens, createRpcServerHistogram(registry), log);
  const grpc = createGrpcServer(
    { host, port: config.grpcPort, drainMs: config.drainMs, tlsDir: config.grpcTlsDir },
    lifecycle,
  );
  grpc.serve(
    ConversationService,
    createRpcHandlers({
      database,
      calls,
      config,
      botConfigs,
      patternThreads,
      semanticSearch,
      keyUses,
      exports,
      visitorErasure,
      closedTurnCounter,
      onTurnsClosed,
    }),
    {
      ...guard,
      intercept: (context, next) => guard.intercept(context, () => deletedWorkspaces.hide(context, next)),
    },
  );
  await grpc.listen();
  isServing = true;
  settler.start();
}
