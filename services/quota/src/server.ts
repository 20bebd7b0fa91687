import { randomUUID } from "node:crypto";
import { BooksAdminService, QuotaService, WorkspaceAdminService } from "@parley/rpc/quota";
import {
  checkTimeouts,
  createGrpcServer,
  createPoolMetrics,
  createReadinessProbe,
  createRegistry,
  guardCalls,
  type Lifecycle,
  type Logger,
  openDatabase,
  rpcServerHistogram,
  startOpsServer,
} from "@parley/service-kit";
import { migrations } from "../migrations/index.ts";
import { handleGetMonth } from "./audit/get-month.rpc.ts";
import { handleListMonthTurns } from "./audit/list-month-turns.rpc.ts";
import { turnEntryAdmin } from "./audit/turn-entry.admin.ts";
import type { Config } from "./config.ts";
import { holdGauges } from "./metrics.ts";
import { handleGetUsage } from "./usage/get-usage.rpc.ts";
import { handleReserve } from "./usage/reserve.rpc.ts";
import { handleSettle } from "./usage/settle.rpc.ts";
import { reservationCounter, usageGauges } from "./usage/usage.metrics.ts";
import { handleGetWorkspace } from "./workspaces/get-workspace.rpc.ts";
import { workspaceAdmin } from "./workspaces/workspaces.admin.ts";

/** Starts the quota service with its data plane on the gRPC port and its admin services on the ops port. */
export async function start(config: Config, log: Logger, lifecycle: Lifecycle): Promise<void> {
  const registry = createRegistry("quota");
  const database = openDatabase(
    { url: config.databaseUrl, applicationName: "parley-quota", maxConnections: config.databasePool },
    log,
  );
  lifecycle.onClose("database", () => database.end());
  createPoolMetrics(registry)("main", database);
  void checkTimeouts(database, log);
  usageGauges(registry, database, log);
  const reservations = reservationCounter(registry);
  holdGauges(registry, database, log);

  await startOpsServer(
    {
      host: config.host,
      port: config.opsPort,
      adminToken: config.adminToken,
      registry,
      isReady: createReadinessProbe(database, { schema: "quota", migrations }, log),
      admin: (router) => {
        router.service(
          WorkspaceAdminService,
          workspaceAdmin(database, () => `ws_${randomUUID()}`),
        );
        router.service(BooksAdminService, turnEntryAdmin(database));
      },
    },
    log,
    lifecycle,
  );

  const grpc = createGrpcServer(
    { host: config.host, port: config.grpcPort, drainMs: config.drainMs, tlsDir: config.grpcTlsDir },
    lifecycle,
  );
  grpc.serve(
    QuotaService,
    {
      reserve: (request) => handleReserve(database, reservations, request),
      settle: (request) => handleSettle(database, request),
      getUsage: (request) => handleGetUsage(database, request),
      getWorkspace: (request) => handleGetWorkspace(database, request),
      getMonth: (request) => handleGetMonth(database, request),
      listMonthTurns: (request) => handleListMonthTurns(database, request),
    },
    guardCalls(config.internalToken, rpcServerHistogram(registry), log),
  );
  await grpc.listen();
}
