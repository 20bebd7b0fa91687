import type { ConnectRouter } from "@connectrpc/connect";
import { PatternThreadPool } from "@parley/bot-rules/moderation";
import { RpcError, status } from "@parley/rpc";
import { ConversationService, HandoffService, SessionAdminService } from "@parley/rpc/conversation";
import { MAX_DOCUMENT_BYTES } from "@parley/rpc/documents";
import type { Outcome } from "@parley/rpc/outcomes";
import {
  type CallGuard,
  createAuditLogCounter,
  createCallGuard,
  createGrpcServer,
  createReadinessProbe,
  createRpcServerHistogram,
  type Lifecycle,
  type Logger,
  openAuditLog,
  openInternalTokens,
  openTokens,
  type Registry,
  rememberShard,
  requireShard,
  runForWorkspace,
  runPeriodically,
  type ServiceMetrics,
  type Shard,
  startOpsServer,
  watchCertificates,
} from "@parley/service-kit";
import { migrations } from "../migrations/index.ts";
import { registerAdminServices } from "./admin-services.ts";
import { createBotConfigCache } from "./bots/bot-configs.service.ts";
import type { Config } from "./config.ts";
import { DocumentFetcher, DocumentQueue } from "./documents/index.ts";
import { createEmails, registerEmailGauge } from "./emails/index.ts";
import { createHandoffHandlers, createHandoffMetrics, registerHandoffGauges } from "./handoff/index.ts";
import { SemanticSearch } from "./knowledge/semantic-search.service.ts";
import {
  createClosedTurnCounter,
  createLeaseFailureCounter,
  createPrunedRowCounter,
  createRetentionFailureCounter,
  createSemanticSearchCounter,
  createSettleLags,
  createTaskFailureCounter,
  registerEmbeddingGauge,
  registerOutboxGauges,
} from "./metrics.ts";
import { createPeriodicTasks } from "./periodic-tasks.ts";
import { openPools } from "./pools.ts";
import { QuestionSearch } from "./questions/index.ts";
import {
  createCallLogComparison,
  createRepairCounter,
  type Repair,
  registerReconciliationGauges,
} from "./reconciliation/index.ts";
import { createRpcHandlers, createSessionHandlers } from "./rpc-handlers.ts";
import { Settlers } from "./settlement/settlers.worker.ts";
import { connectPeers, quotaOfShard } from "./shard-peers.ts";
import { createShardWorkers } from "./shard-workers.ts";
import { createSiteRunCounter, registerSiteGauges } from "./sites/index.ts";
import type { NotifySettler } from "./turns/index.ts";
import { registerUsageAuditGauge } from "./usage-audit/usage-audit.worker.ts";
import { createWebhooks, registerWebhookGauges } from "./webhooks/index.ts";
import { DeletedWorkspaces } from "./workspace-deletions/deleted-workspaces.service.ts";

/** How long a stopping process waits for the settler. */
const SETTLER_STOP_MS = 10_000;
/** How long a stopping process waits for the running attempts to deliver webhooks, of which each takes up to 10 s. */
const WEBHOOKS_STOP_MS = 12_000;
/** How long a stopping process waits for the running attempts to send e-mail. A longer attempt is made again. */
const EMAILS_STOP_MS = 12_000;

/** Starts the conversation service: the data plane on the gRPC port, the admin services on the ops port. */
export async function start(
  config: Config,
  log: Logger,
  lifecycle: Lifecycle,
  { registry, reloadRefusals }: ServiceMetrics,
): Promise<void> {
  const { host, grpcTlsDir, opsTlsDir } = config;
  const { sharded, calls, shards, ownerReadPool } = openPools(config, registry, log, lifecycle);
  const { database } = sharded;
  const auditLog = openAuditLog(sharded, "conversation", createAuditLogCounter(registry), log, lifecycle);
  const reloadOptions = { reloadRefusals, onReload: auditLog.recordReload };
  watchCertificates({ grpcTlsDir, opsTlsDir, registry, ...reloadOptions }, log, lifecycle);
  const secretOptions = { log, lifecycle, ...reloadOptions };
  const internalTokens = openInternalTokens(config.internalTokens, secretOptions);
  const { quota, llm } = connectPeers(config, internalTokens, registry, lifecycle);

  const now = () => performance.now();
  const searchDeps = { database, llm, searches: createSemanticSearchCounter(registry), log, now };
  const semanticSearch = new SemanticSearch(searchDeps);
  // Has its own circuit breaker, so that failed searches for owners do not pause the semantic search of turns.
  const questionSearch = new QuestionSearch(database, new SemanticSearch(searchDeps));
  const patternThreads = new PatternThreadPool({ registry, log, lifecycle });
  const closedTurnCounter = createClosedTurnCounter(registry);
  const handoffMetrics = createHandoffMetrics(registry);
  const settleLags = createSettleLags(registry, shards);
  const settler = new Settlers({
    shards: shards.map(({ number, database }) => ({
      database,
      quota: quotaOfShard(quota, number),
      lag: requireShard(settleLags, number),
    })),
    log,
  });
  const notifySettler = settler.push.bind(settler);
  const reportClosed =
    (outcome: Outcome): NotifySettler =>
    (closed) => {
      notifySettler(closed);
      closedTurnCounter.inc({ outcome }, closed.length);
    };
  const reportCancelled = reportClosed("cancelled");
  const documents = {
    fetcher: new DocumentFetcher({ egress: config.egress, maxBytes: MAX_DOCUMENT_BYTES, log }),
    queue: new DocumentQueue(),
  };
  const webhooks = createWebhooks(config, { registry, auditLog, log, lifecycle, secretOptions });
  const createEmailSender = createEmails(config, { registry, log, secretOptions });
  const siteRunCounter = createSiteRunCounter(registry);
  const workers = shards.map((shard) =>
    createShardWorkers(shard, {
      createDispatcher: webhooks.createDispatcher,
      createEmailSender,
      documents,
      countSiteRun: (result) => siteRunCounter.inc({ result }),
      quota,
      llm,
      leaseSeconds: config.leaseSeconds,
      reportInterrupted: reportClosed("interrupted"),
      reportCancelled,
      closingSignal: lifecycle.closingSignal,
      log,
    }),
  );
  lifecycle.onClose("sweeper", async () => void (await Promise.all(workers.map(({ sweeper }) => sweeper.stop()))));
  lifecycle.onClose("settler", () => settler.stop(), SETTLER_STOP_MS);
  const stopWebhooks = async () => void (await Promise.all(workers.map(({ dispatcher }) => dispatcher.stop())));
  lifecycle.onClose("webhooks", stopWebhooks, WEBHOOKS_STOP_MS);
  const stopEmails = async () => void (await Promise.all(workers.map(({ emailSender }) => emailSender.stop())));
  lifecycle.onClose("emails", stopEmails, EMAILS_STOP_MS);
  const deletedWorkspaces = new DeletedWorkspaces(shards);
  const reportRepairs = createRepairReporter(registry, shards, log);
  registerOutboxGauges(registry, shards, log);
  registerWebhookGauges(registry, shards, log);
  registerEmailGauge(registry, shards, log);
  registerSiteGauges(registry, shards, log);
  registerEmbeddingGauge(
    registry,
    shards,
    ({ number }) => requireShard(workers, number).embeddings.countUnembedded(),
    log,
  );
  registerHandoffGauges(registry, shards, log);
  registerUsageAuditGauge(registry, shards, log);
  registerReconciliationGauges(registry, shards, log);

  const sessionHandlers = createSessionHandlers({
    database,
    ownerReadPool,
    notifySettler: reportCancelled,
    visitorErasers: workers.map(({ visitorEraser }) => visitorEraser),
    auditLog,
  });
  const registerAdmin = (router: ConnectRouter) =>
    registerAdminServices(router, {
      sharded,
      quota,
      llm,
      patternThreads,
      embeddings: workers.map(({ embeddings }) => embeddings),
      documents,
      questionSearch,
      ownerReadPool,
      sessionHandlers,
      auditLog,
      secretBox: webhooks.secretBox,
      usageAuditShards: workers.map((worker) => ({
        ...worker,
        notifySettler,
        onRepaired: reportRepairs(worker.number),
        callLogComparison: createCallLogComparison(worker.llm),
      })),
      config,
      log,
    });
  let isServing = false;
  const isDatabaseReady = createReadinessProbe(shards, { schema: "conversation", migrations }, log);
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
        shards,
        register: registerAdmin,
      },
    },
    log,
    lifecycle,
  );

  const retentionFailures = createRetentionFailureCounter(registry);
  const prunedRows = createPrunedRowCounter(registry);
  const countTaskFailure = createTaskFailureCounter(registry, shards);
  // Registered before the gRPC server, because the lifecycle closes in reverse order: it first drains the calls, then waits for the tasks.
  for (const { number, taskDatabase, ...worker } of workers) {
    const tasks = createPeriodicTasks(
      {
        ...worker,
        number,
        database: taskDatabase,
        notifySettler,
        reportCancelled,
        onRepaired: reportRepairs(number),
        deletedWorkspaces,
        retentionFailures,
        prunedRows,
        handoffMetrics,
        secretBox: webhooks.secretBox,
        log,
      },
      config,
    );
    for (const { name, intervalMs, run } of tasks) {
      countTaskFailure(name, number, 0);
      const task = {
        name: workers.length === 1 ? name : `${name}, shard ${number}`,
        intervalMs,
        run: (signal: AbortSignal) =>
          run(signal).catch((error: unknown) => {
            countTaskFailure(name, number);
            throw error;
          }),
      };
      runPeriodically(task, log, lifecycle);
    }
  }

  const tokenGuard = createCallGuard(internalTokens, createRpcServerHistogram(registry), log);
  const guard: CallGuard = {
    ...tokenGuard,
    intercept: (context, next) =>
      tokenGuard.intercept(context, () =>
        deletedWorkspaces.treatAsUnknown(context, () => runForWorkspace(sharded, context.request, next)),
      ),
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
      shards,
      config,
      botConfigs: createBotConfigCache(database),
      patternThreads,
      semanticSearch,
      keyUses: workers.map(({ keyUses }) => keyUses),
      onLeaseFailure: createLeaseFailureCounter(registry, shards),
      rememberShard: (workspaceId, shard) => rememberShard(sharded, workspaceId, shard),
      ownerReadPool,
      closedTurnCounter,
      notifySettler,
      handoffMetrics,
    }),
    guard,
  );
  // The edge calls neither of these methods. Only the ops port records them in the audit log.
  const unimplemented = () => {
    throw new RpcError(status.UNIMPLEMENTED, "unimplemented", "only the ops port serves this method");
  };
  const edgeHandlers = { ...sessionHandlers, eraseSession: unimplemented, reviewMessage: unimplemented };
  grpc.serve(SessionAdminService, edgeHandlers, guard);
  grpc.serve(HandoffService, createHandoffHandlers({ calls, metrics: handoffMetrics, auditLog }), guard);
  await grpc.listen();
  isServing = true;
  settler.start();
}

/** Returns a function that returns what reports the repairs of a shard. */
function createRepairReporter(registry: Registry, shards: readonly Shard[], log: Logger) {
  const count = createRepairCounter(registry, shards);
  return (shard: number) => (repairs: readonly Repair[]) => {
    for (const { workspaceId, turnId, kind, action } of repairs) {
      count(kind, shard);
      log.warn({ workspace_id: workspaceId, turn_id: turnId, kind, action }, "usage difference repaired");
    }
  };
}
