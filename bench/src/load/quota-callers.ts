// Load generator for the quota service, in a process of its own. Reserves and settles turns, either by RPC or with the same statements on
// a database connection, and prints the throughput as JSON.
import { randomUUID } from "node:crypto";
import { QuotaService, SettleOutcome } from "@parley/rpc/quota";
import { connectPeer, createLogger, Lifecycle, openDatabase } from "@parley/service-kit";
import { reserve, settle } from "../../../services/quota/src/usage/reservations.store.ts";
import type { QuotaPlan, QuotaResult } from "./quota-plan.ts";

type RunTurn = (workspaceId: string, turnId: string) => Promise<void>;

const plan = JSON.parse(process.argv[2] ?? "{}") as QuotaPlan;

function byRpc(): RunTurn {
  const { target, internalToken } = plan;
  const client = connectPeer(QuotaService, { target, internalToken }, new Lifecycle(createLogger("bench", "warn")));
  const options = { timeoutMs: 30_000 };
  return async (workspaceId, turnId) => {
    const { month } = await client.reserve({ workspaceId, turnId }, options);
    await client.settle({ settlements: [{ workspaceId, turnId, outcome: SettleOutcome.DONE, month }] }, options);
  };
}

function bySql(): RunTurn {
  const { databaseUrl: url, databasePool: maxConnections } = plan;
  const database = openDatabase({ url, applicationName: "bench", maxConnections }, createLogger("bench", "warn"));
  return async (workspaceId, turnId) => {
    const held = await reserve(database, workspaceId, turnId);
    const month = held?.status === "held" ? held.month : undefined;
    await settle(database, [{ workspaceId, turnId, outcome: "done", month }]);
  };
}

const runTurn = plan.by === "grpc" ? byRpc() : bySql();

async function measurePerSecond(turns: number): Promise<number> {
  let remaining = turns;
  const started = performance.now();
  const caller = async () => {
    while (remaining > 0) {
      const workspaceId = plan.workspaceIds[remaining % plan.workspaceIds.length] ?? "";
      remaining--;
      await runTurn(workspaceId, randomUUID());
    }
  };
  await Promise.all(Array.from({ length: plan.callers }, caller));
  return turns / ((performance.now() - started) / 1_000);
}

await measurePerSecond(Math.ceil(plan.turns / 4));
const result: QuotaResult = { perSecond: await measurePerSecond(plan.turns) };
console.log(JSON.stringify(result));
process.exit(0);
