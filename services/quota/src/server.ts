import { randomUUID } from "node:crypto";
import { implementService } from "@parley/rpc";
import { BooksAdminService, QuotaService, WorkspaceAdminService } from "@parley/rpc/quota";
import {
  checkTimeouts,
  createGrpcServer,
  createRegistry,
  guardCalls,
  type Lifecycle,
  type Logger,
  openDatabase,
  poolMetrics,
  readiness,
  rpcServerHistogram,
  startOpsServer,
} from "@parley/service-kit";
import { booksAdmin } from "./admin/books.ts";
import { workspaceAdmin } from "./admin/workspaces.ts";
import type { Config } from "./config.ts";
import { holdGauges } from "./metrics.ts";
import { handleGetMonth } from "./rpc/get-month.ts";
import { handleGetUsage } from "./rpc/get-usage.ts";
import { handleGetWorkspace } from "./rpc/get-workspace.ts";
import { handleListMonthTurns } from "./rpc/list-month-turns.ts";
import { handleReserve } from "./rpc/reserve.ts";
import { handleSettle } from "./rpc/settle.ts";
import { reservationCounter, usageGauges } from "./usage-metrics.ts";

/** Starts the quota service: its data plane on the gRPC port, its admin service on the ops port. */
export async function start(config: Config, log: Logger, lifecycle: Lifecycle): Promise<void> {
  const registry = createRegistry("quota");
  const database = openDatabase(
    { url: config.databaseUrl, applicationName: "parley-quota", maxConnections: config.databasePool },
    log,
  );
  lifecycle.onClose("database", () => database.end());
  poolMetrics(registry)("main", database);
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
      ready: readiness(database),
      admin: (router) => {
        router.service(
          WorkspaceAdminService,
          workspaceAdmin(database, () => `ws_${randomUUID()}`),
        );
        router.service(BooksAdminService, booksAdmin(database));
      },
    },
    log,
    lifecycle,
  );

  const grpc = createGrpcServer(
    { host: config.host, port: config.grpcPort, drainMs: config.drainMs, tlsDir: config.grpcTlsDir },
    lifecycle,
  );
  implementService(
    grpc.server,
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
