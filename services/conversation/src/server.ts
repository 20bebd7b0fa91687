import type { ConnectRouter } from "@connectrpc/connect";
import { PatternThreadPool } from "@parley/bot-rules/moderation";
import { RpcError, status } from "@parley/rpc";
import { ConversationService, SessionAdminService } from "@parley/rpc/conversation";
import { LlmService } from "@parley/rpc/llm";
import type { Outcome } from "@parley/rpc/outcomes";
import { QuotaService } from "@parley/rpc/quota";
import {
  type CallGuard,
  CallPool,
  connectPeer,
  createAuditLogCounter,
  createCallGuard,
  createGrpcServer,
  createPoolMetrics,
  createReadinessProbe,
  createRpcClientFailureCounter,
  createRpcServerHistogram,
  FairQueue,
  type Lifecycle,
  type Logger,
  logMissingRoleTimeouts,
  openAuditLog,
  openDatabase,
  openInternalTokens,
  openTokens,
  type Registry,
  runPeriodically,
  type ServiceMetrics,
  startOpsServer,
  type Tokens,
  watchCertificates,
} from "@parley/service-kit";
import { migrations } from "../migrations/index.ts";
import { registerAdminServices } from "./admin-services.ts";
import { createBotConfigCache } from "./bots/bot-configs.service.ts";
import type { Config } from "./config.ts";
import { VisitorEraser } from "./erasures/erasures.worker.ts";
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
import { createRpcHandlers, createSessionHandlers } from "./rpc-handlers.ts";
import { ExportPacer, type OwnerReadPool } from "./sessions/index.ts";
import { Settler } from "./settlement/settler.worker.ts";
import { Sweeper } from "./sweeping/sweeper.worker.ts";
import type { NotifySettler } from "./turns/index.ts";
import { registerUsageAuditGauge } from "./usage-audit/usage-audit.worker.ts";
import { DeletedWorkspaces } from "./workspace-deletions/deleted-workspaces.service.ts";

/** How long a stopping process waits for the settler. */
const SETTLER_STOP_MS = 10_000;
/** The share of the main pool's connections that periodic tasks may use together. The rest remains for turns. */
const TASK_CONNECTION_SHARE = 0.5;

/** Starts the conversation service: the data plane on the gRPC port, the admin services on the ops port. */
export async function start(
  config: Config,
  log: Logger,
  lifecycle: Lifecycle,
  { registry, reloadRefusals }: ServiceMetrics,
): Promise<void> {
  const { host, grpcTlsDir, opsTlsDir } = config;
  const { database, calls, taskDatabase, ownerReadPool } = openPools(config, registry, log, lifecycle);
  const auditLog = openAuditLog(database, "conversation", createAuditLogCounter(registry), log, lifecycle);
  const reloadOptions = { reloadRefusals, onReload: auditLog.recordReload };
  watchCertificates({ grpcTlsDir, opsTlsDir, registry, ...reloadOptions }, log, lifecycle);
  const secretOptions = { log, lifecycle, ...reloadOptions };
  const internalTokens = openInternalTokens(config.internalTokens, secretOptions);
  const { quota, llm } = connectPeers(config, internalTokens, registry, lifecycle);

  const embeddings = new EmbeddingWorker(database, llm, log);
  const now = () => performance.now();
  const searchDeps = { database, llm, searches: createSemanticSearchCounter(registry), log, now };
  const semanticSearch = new SemanticSearch(searchDeps);
  // Has its own circuit breaker, so that failed searches for owners do not pause the semantic search of turns.
  const questionSearch = new QuestionSearch(database, new SemanticSearch(searchDeps));
  const patternThreads = new PatternThreadPool({ registry, log, lifecycle });
  const closedTurnCounter = createClosedTurnCounter(registry);
  const settler = new Settler(database, quota, registry, log);
  const notifySettler = settler.push.bind(settler);
  const reportClosed =
    (outcome: Outcome): NotifySettler =>
    (closed) => {
      notifySettler(closed);
      closedTurnCounter.inc({ outcome }, closed.length);
    };
  const reportCancelled = reportClosed("cancelled");
  const sweeper = new Sweeper(database, config.leaseSeconds, reportClosed("interrupted"), log);
  lifecycle.onClose("sweeper", () => sweeper.stop());
  lifecycle.onClose("settler", () => settler.stop(), SETTLER_STOP_MS);
  const keyUses = new KeyUses(database);
  const { closingSignal } = lifecycle;
  const visitorEraser = new VisitorEraser({ database, notifySettler: reportCancelled, closingSignal, log });
  const deletedWorkspaces = new DeletedWorkspaces(database);
  const onRepaired = createRepairReporter(registry, log);
  registerEmbeddingGauge(registry, () => embeddings.countUnembedded(), log);
  registerUsageAuditGauge(registry, database, log);
  registerReconciliationGauges(registry, database, log);

  const sessionHandlers = createSessionHandlers({
    database,
    ownerReadPool,
    notifySettler: reportCancelled,
    visitorEraser,
    auditLog,
  });
  const registerAdmin = (router: ConnectRouter) =>
    registerAdminServices(router, {
      database,
      quota,
      llm,
      patternThreads,
      embeddings,
      questionSearch,
      ownerReadPool,
      sessionHandlers,
      auditLog,
      repairDeps: { database, quota, notifySettler, onRepaired, callLogComparison: createCallLogComparison(llm) },
      config,
      log,
    });
  let isServing = false;
  const isDatabaseReady = createReadinessProbe(database, { schema: "conversation", migrations }, log);
  await startOpsServer(
    {
      host,
      port: config.opsPort,
      tlsDir: opsTlsDir,
      registry,
      isReady: async () => (await isDatabaseReady()) && isServing,
      admin: {
        tokens: openTokens(config.adminTokens, secretOptions),
        jwt: config.jwt,
        auditLog,
        isDeleted: (workspaceId) => deletedWorkspaces.has(workspaceId),
        register: registerAdmin,
      },
    },
    log,
    lifecycle,
  );

  const tasks = createPeriodicTasks(
    {
      database: taskDatabase,
      quota,
      llm,
      notifySettler,
      reportCancelled,
      onRepaired,
      sweeper,
      visitorEraser,
      keyUses,
      deletedWorkspaces,
      embeddings,
      retentionFailures: createRetentionFailureCounter(registry),
      prunedRows: createPrunedRowCounter(registry),
      log,
    },
    config,
  );
  // Registered before the gRPC server, because the lifecycle closes in reverse order: it first drains the calls, then waits for the tasks.
  for (const task of tasks) runPeriodically(task, log, lifecycle);

  const tokenGuard = createCallGuard(internalTokens, createRpcServerHistogram(registry), log);
  const guard: CallGuard = {
    ...tokenGuard,
    intercept: (context, next) => tokenGuard.intercept(context, () => deletedWorkspaces.treatAsUnknown(context, next)),
  };
  const grpc = createGrpcServer(
    { host, port: config.grpcPort, drainMs: config.drainMs, tlsDir: grpcTlsDir },
    lifecycle,
  );
  grpc.serve(
    ConversationService,
    createRpcHandlers({
      database,
      calls,
      config,
      botConfigs: createBotConfigCache(database),
      patternThreads,
      semanticSearch,
      keyUses,
      ownerReadPool,
      closedTurnCounter,
      notifySettler,
    }),
    guard,
  );
  // The edge calls neither of these methods. Only the ops port records them in the audit log.
  const unimplemented = () => {
    throw new RpcError(status.UNIMPLEMENTED, "unimplemented", "only the ops port serves this method");
  };
  const edgeHandlers = { ...sessionHandlers, eraseSession: unimplemented, reviewMessage: unimplemented };
  grpc.serve(SessionAdminService, edgeHandlers, guard);
  await grpc.listen();
  isServing = true;
  settler.start();
}

function openPools(config: Config, registry: Registry, log: Logger, lifecycle: Lifecycle) {
  const open = (applicationName: string, maxConnections: number) => {
    const { databaseUrl: url, usesPreparedStatements } = config;
    const { closingSignal } = lifecycle;
    const pool = openDatabase({ url, applicationName, maxConnections, usesPreparedStatements, closingSignal }, log);
    lifecycle.onClose(applicationName, () => pool.end());
    return pool;
  };
  const ownerConnections = Math.max(1, Math.floor(config.databasePool / 5));
  const database = open("parley-conversation", config.databasePool - ownerConnections);
  const ownerDatabase = open("parley-conversation-export", ownerConnections);
  const calls = new CallPool(database);
  const observePool = createPoolMetrics(registry);
  observePool("main", database, calls);
  observePool("export", ownerDatabase);
  void logMissingRoleTimeouts(database, log);
  const ownerReadPool: OwnerReadPool = {
    database: ownerDatabase,
    limiter: new FairQueue({ maxActiveOfWorkspace: 1 }),
    pacer: new ExportPacer(),
  };
  return {
    /** The whole main pool, for work that must complete, such as closing a turn. */
    database,
    /** A share of the main pool, for calls that may be refused or cancelled. */
    calls,
    /** A share of the main pool, for periodic tasks. The signal is never aborted, because a task has no caller that could cancel it. */
    taskDatabase: new CallPool(database, TASK_CONNECTION_SHARE).databaseFor(new AbortController().signal),
    ownerReadPool,
  };
}

function connectPeers(config: Config, internalTokens: Tokens, registry: Registry, lifecycle: Lifecycle) {
  const { grpcTlsDir: tlsDir, isRpcMultiplexed: isMultiplexed } = config;
  const options = { internalTokens, tlsDir, isMultiplexed, failures: createRpcClientFailureCounter(registry) };
  return {
    quota: connectPeer(QuotaService, { ...options, target: config.quotaTarget }, lifecycle),
    llm: connectPeer(LlmService, { ...options, target: config.llmTarget }, lifecycle),
  };
}

function createRepairReporter(registry: Registry, log: Logger): (repairs: readonly Repair[]) => void {
  const counter = createRepairCounter(registry);
  return (repairs) => {
    for (const { workspaceId, turnId, kind, action } of repairs) {
      counter.inc({ kind });
      log.warn({ workspace_id: workspaceId, turn_id: turnId, kind, action }, "usage difference repaired");
    }
  };
}
