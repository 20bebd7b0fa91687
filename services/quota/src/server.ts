import { randomUUID } from "node:crypto";
import { AuditLogAdminService, BooksAdminService, QuotaService, WorkspaceAdminService } from "@parley/rpc/quota";
import {
  type CallGuard,
  CallPool,
  createAuditLogCounter,
  createCallGuard,
  createGrpcServer,
  createPoolMetrics,
  createReadinessProbe,
  createRpcServerHistogram,
  FairQueue,
  type Lifecycle,
  type Logger,
  logMissingRoleTimeouts,
  openAuditLog,
  openInternalTokens,
  openShards,
  openTokens,
  runForWorkspace,
  runOnShards,
  type ServiceMetrics,
  shardOfCall,
  startAtZero,
  startOpsServer,
  watchCertificates,
} from "@parley/service-kit";
import { migrations } from "../migrations/index.ts";
import type { Config } from "./config.ts";
import { handleListEvents } from "./events/index.ts";
import { registerHoldGauges } from "./metrics.ts";
import { handleCloseMonth } from "./months/close-month.rpc.ts";
import { handleListMonths } from "./months/list-months.rpc.ts";
import { createPrunedRowCounter, registerMonthGauge } from "./months/months.metrics.ts";
import { pruneUsage } from "./months/prune.worker.ts";
import { handleAdjustTurns } from "./reconciliation/adjust-turns.rpc.ts";
import { handleGetReservations } from "./reconciliation/get-reservations.rpc.ts";
import { handleListReservations } from "./reconciliation/list-reservations.rpc.ts";
import { ROLE_TIMEOUTS } from "./role.ts";
import { handleCorrectUnpaid } from "./unpaid/correct-unpaid.rpc.ts";
import { handleListUnpaid } from "./unpaid/list-unpaid.rpc.ts";
import { handleReserve } from "./usage/reserve.rpc.ts";
import { handleSettle } from "./usage/settle.rpc.ts";
import { createMisroutedCounter, createReservationCounter, registerUsageGauges } from "./usage/usage.metrics.ts";
import { handleGetMonth } from "./usage-audit/get-month.rpc.ts";
import { handleListMonthTurns } from "./usage-audit/list-month-turns.rpc.ts";
import { createTurnEntryAdmin } from "./usage-audit/turn-entry.admin.ts";
import { handleGetWorkspace } from "./workspaces/get-workspace.rpc.ts";
import { handleListRetentions } from "./workspaces/list-retentions.rpc.ts";
import { handleSetWorkspaceDeleted } from "./workspaces/set-workspace-deleted.rpc.ts";
import { createWorkspaceAdmin } from "./workspaces/workspaces.admin.ts";
import { isDeleted } from "./workspaces/workspaces.store.ts";

/**
 * With a random factor of 0.8 to 1.2, the interval is at most an hour. A month can be closed only after pruneUsage has added it to quota.months.
 */
const PRUNE_INTERVAL_MS = 50 * 60_000;

export async function start(
  config: Config,
  log: Logger,
  lifecycle: Lifecycle,
  { registry, reloadRefusals }: ServiceMetrics,
): Promise<void> {
  const sharded = openShards(
    {
      url: config.databaseUrl,
      applicationName: "parley-quota",
      maxConnections: config.databasePool,
      usesPreparedStatements: config.usesPreparedStatements,
      shardCount: config.shardCount,
      keyedTable: "quota.reservations",
      closingSignal: lifecycle.closingSignal,
    },
    log,
    lifecycle,
  );
  const { database, shards } = sharded;
  const auditLog = openAuditLog(sharded, "quota", createAuditLogCounter(registry), log, lifecycle);
  const reloadOptions = { reloadRefusals, onReload: auditLog.recordReload };
  watchCertificates(
    { grpcTlsDir: config.grpcTlsDir, opsTlsDir: config.opsTlsDir, registry, ...reloadOptions },
    log,
    lifecycle,
  );
  const secretOptions = { log, lifecycle, ...reloadOptions };
  const calls = new CallPool(database);
  const observePool = createPoolMetrics(registry);
  observePool("main", database, calls);
  const callsOfShards = shards.map((shard) => {
    void logMissingRoleTimeouts(shard.database, log, ROLE_TIMEOUTS);
    if (shard.database === database) return calls;
    const callsOfShard = new CallPool(shard.database);
    observePool(`shard_${shard.number}`, shard.database, callsOfShard);
    return callsOfShard;
  });
  /** Returns the view of a shard for one call. */
  const shardFor = (shard: number, signal: AbortSignal) => shardOfCall(callsOfShards, shard).databaseFor(signal);
  registerUsageGauges(registry, shards, log);
  const reservations = createReservationCounter(registry);
  const misrouted = createMisroutedCounter(registry);
  if (shards.length > 1) startAtZero(misrouted, { shard: shards.map(({ number }) => String(number)) });
  // Keeps connections free while the usage row of one workspace is locked.
  const limiter = new FairQueue({ maxActiveOfWorkspace: Math.max(1, Math.floor(config.databasePool / 4)) });
  registerHoldGauges(registry, shards, log);
  registerMonthGauge(registry, shards, log);

  let isServing = false;
  const isDatabaseReady = createReadinessProbe(shards, { schema: "quota", migrations }, log);
  await startOpsServer(
    {
      host: config.host,
      port: config.opsPort,
      tlsDir: config.opsTlsDir,
      registry,
      isReady: async () => (await isDatabaseReady()) && isServing,
      admin: {
        tokens: openTokens(config.adminTokens, secretOptions),
        jwt: config.jwt,
        auditLog,
        isDeleted: (workspaceId) => runForWorkspace(sharded, { workspaceId }, () => isDeleted(database, workspaceId)),
        shards,
        register: (router) => {
          router.service(
            WorkspaceAdminService,
            createWorkspaceAdmin(sharded, () => `ws_${randomUUID()}`),
          );
          router.service(AuditLogAdminService, auditLog);
          router.service(BooksAdminService, createTurnEntryAdmin(database));
        },
      },
    },
    log,
    lifecycle,
  );

  const pruneDeps = {
    shards,
    retentionMonths: config.usageRetentionMonths,
    prunedRows: createPrunedRowCounter(registry),
    log,
  };
  runOnShards(
    shards,
    {
      name: "prune usage",
      intervalMs: () => PRUNE_INTERVAL_MS * (0.8 + Math.random() * 0.4),
      run: (shard, signal) => pruneUsage(pruneDeps, shard, signal),
    },
    log,
    lifecycle,
  );
  const rpcDurations = createRpcServerHistogram(registry);
  const tokenGuard = createCallGuard(openInternalTokens(config.internalTokens, secretOptions), rpcDurations, log);
  const guard: CallGuard = {
    ...tokenGuard,
    intercept: (context, next) => tokenGuard.intercept(context, () => runForWorkspace(sharded, context.request, next)),
  };
  const grpc = createGrpcServer(
    { host: config.host, port: config.grpcPort, drainMs: config.drainMs, tlsDir: config.grpcTlsDir },
    lifecycle,
  );
  grpc.serve(
    QuotaService,
    {
      reserve: (request, { signal }) =>
        handleReserve({ database: calls.databaseFor(signal), counter: reservations, limiter }, request, signal),
      // Settle, SetWorkspaceDeleted, AdjustTurns and CorrectUnpaid do not use a CallPool, so their statements complete even if the caller has left.
      settle: (request, { signal }) => handleSettle({ sharded, misrouted, log }, request, signal),
      getWorkspace: (request, { signal }) => handleGetWorkspace(calls.databaseFor(signal), request),
      listRetentions: (request, { signal }) => handleListRetentions(shardFor(request.shard, signal), request),
      setWorkspaceDeleted: (request) => handleSetWorkspaceDeleted(database, request),
      getMonth: (request, { signal }) => handleGetMonth(shardFor(request.shard, signal), request),
      listMonthTurns: (request, { signal }) => handleListMonthTurns(calls.databaseFor(signal), request),
      listReservations: (request, { signal }) => handleListReservations(shardFor(request.shard, signal), request),
      getReservations: (request, { signal }) => handleGetReservations(shardFor(request.shard, signal), request),
      adjustTurns: (request) => handleAdjustTurns({ shards, log }, request),
      listUnpaid: (request, { signal }) => handleListUnpaid(shardFor(request.shard, signal), request),
      correctUnpaid: (request) => handleCorrectUnpaid(database, request),
      listMonths: ({ shard }, { signal }) => handleListMonths([{ number: shard, database: shardFor(shard, signal) }]),
      listEvents: (request, { signal }) => handleListEvents(shardFor(request.shard, signal), request),
      closeMonth: (request, { signal }) =>
        handleCloseMonth({ database: shardFor(request.shard, signal), log }, request),
    },
    guard,
  );
  await grpc.listen();
  isServing = true;
}
