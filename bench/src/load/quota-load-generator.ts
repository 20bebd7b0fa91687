// Load generator for the quota service: reserves and settles turns, by RPC or with the service's SQL statements, and prints the throughput as JSON.
import { randomUUID } from "node:crypto";
import { QuotaService, SettleOutcome } from "@parley/rpc/quota";
import { connectPeer, createLogger, fixedTokens, Lifecycle, openDatabase } from "@parley/service-kit";
import { reserve } from "../../../services/quota/src/usage/reservations.store.ts";
import { settle } from "../../../services/quota/src/usage/settlements.store.ts";
import type { QuotaLoadOptions, QuotaLoadResult } from "./quota-load-options.ts";

type RunTurn = (workspaceId: string, turnId: string) => Promise<void>;

const loadOptions = JSON.parse(process.argv[2] ?? "{}") as QuotaLoadOptions;

function createGrpcRunTurn(): RunTurn {
  const { target, internalToken } = loadOptions;
  const client = connectPeer(
    QuotaService,
    { target, internalTokens: fixedTokens(internalToken) },
    new Lifecycle(createLogger("bench", "warn")),
  );
  const options = { timeoutMs: 30_000 };
  return async (workspaceId, turnId) => {
    const { month } = await client.reserve({ workspaceId, turnId }, options);
    await client.settle({ settlements: [{ workspaceId, turnId, outcome: SettleOutcome.DONE, month }] }, options);
  };
}

function createSqlRunTurn(): RunTurn {
  const { databaseUrl: url, databasePoolSize: maxConnections } = loadOptions;
  const database = openDatabase({ url, applicationName: "bench", maxConnections }, createLogger("bench", "warn"));
  return async (workspaceId, turnId) => {
    const reservation = await reserve(database, workspaceId, turnId);
    const month = reservation?.status === "held" ? reservation.month : undefined;
    await settle(database, [{ workspaceId, turnId, outcome: "done", month }]);
  };
}

const runTurn = loadOptions.transport === "grpc" ? createGrpcRunTurn() : createSqlRunTurn();

async function measureThroughput(turns: number): Promise<number> {
  let remaining = turns;
  const started = performance.now();
  const caller = async () => {
    while (remaining > 0) {
      const workspaceId = loadOptions.workspaceIds[remaining % loadOptions.workspaceIds.length] ?? "";
      remaining--;
      await runTurn(workspaceId, randomUUID());
    }
  };
  await Promise.all(Array.from({ length: loadOptions.callers }, caller));
  return turns / ((performance.now() - started) / 1_000);
}

// Warm-up.
await measureThroughput(Math.ceil(loadOptions.turns / 4));
const result: QuotaLoadResult = { perSecond: await measureThroughput(loadOptions.turns) };
console.log(JSON.stringify(result));
process.exit(0);
