import { randomUUID } from "node:crypto";
import { UsageAuditAdminService } from "@parley/rpc/conversation";
import { ReservationState } from "@parley/rpc/quota";
import { expect, test } from "vitest";
import { claimLease, finishTask } from "../leases/leases.store.ts";
import { adminFailure, useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { createCallLogComparison } from "./call-log.service.ts";
import type { ReconcileQuotaClient } from "./reconcile.service.ts";
import { createCallLogPlan, createReconciliationTask, measureCallLog } from "./reconciliation.worker.ts";
import { repair } from "./repair.service.ts";

const system = useTestSystem();
const signal = new AbortController().signal;

/** Returns a fake quota service. It lists only the turns `counted`, but reports every requested turn as done. */
const quotaThatLists = (counted: { workspaceId: string; turnId: string }[]) =>
  ({
    listReservations: async ({ state }: { state: ReservationState }) => ({
      reservations: state === ReservationState.DONE ? counted : [],
      nextPageToken: "",
      listedUntil: "",
    }),
    getReservations: async ({ turns }: { turns: { workspaceId: string; turnId: string }[] }) => ({
      reservations: turns.map((turn) => ({ ...turn, state: ReservationState.DONE })),
    }),
    listUnpaid: async () => ({ day: "2026-11-30", workspaces: [] }),
  }) as unknown as ReconcileQuotaClient;

function createDeps(
  fillCallLog: (request: { turns?: readonly { turnId?: string }[] }) => Promise<unknown>,
  counted: { workspaceId: string; turnId: string }[] = [],
) {
  const quota = quotaThatLists(counted);
  const deps = { database: system.database, quota, notifySettler: () => undefined, onRepaired: () => undefined };
  return { ...deps, callLogComparison: createCallLogComparison({ fillCallLog } as never) };
}

test("a repair fills the call log, and `checked` includes a turn once although several steps check it", async () => {
  const bot = await createBot(system.database);
  const turn = newTurn(bot);
  await runTurn(system.database, turn);
  const filled: string[] = [];
  const deps = createDeps(
    async ({ turns = [] }) => {
      filled.push(...turns.map(({ turnId = "" }) => turnId));
      return { filled: turns.length };
    },
    [turn],
  );
  const nextTokens: string[] = [];
  const checkedPerStep: number[] = [];
  let token = "";
  do {
    const request = { workspaceId: bot.workspaceId, since: "2020-01-01T00:00:00Z", token };
    const { nextToken, checked } = await repair(deps, request, 0);
    token = nextToken;
    nextTokens.push(token);
    checkedPerStep.push(checked);
  } while (token !== "");
  expect(nextTokens).toEqual(["done", "counted", "unpaid", "call_log", ""]);
  expect(filled).toEqual([turn.turnId]);
  expect(checkedPerStep).toEqual([0, 1, 0, 0, 0]);
});

test("Repair refuses a malformed workspace id", async () => {
  const client = system.createAdminClient(UsageAuditAdminService);
  expect(await adminFailure(client.repair({ workspaceId: "a\0b" }))).toMatchObject({
    parleyCode: "invalid_argument",
    message: expect.stringContaining("workspace_id"),
  });
});

test("until the first successful comparison, the lag of the call log is the age of the oldest done turn", async () => {
  const turn = newTurn(await createBot(system.database));
  await runTurn(system.database, turn);
  await system.admin.query("UPDATE conversation.turns SET closed_at = now() - interval '2 hours' WHERE turn_id = $1", [
    turn.turnId,
  ]);
  let isReachable = false;
  const { callLogComparison, ...deps } = createDeps(async () => {
    if (!isReachable) throw new Error("unavailable");
    return { filled: 0 };
  });
  const plan = createCallLogPlan(callLogComparison);
  const run = createReconciliationTask(deps, { everySeconds: 60, days: 7, minAgeSeconds: 0 }, plan);
  await system.admin.query("DELETE FROM conversation.task_leases WHERE task = $1", [plan.task]);
  await expect(run(signal)).rejects.toThrow("unavailable");
  expect((await measureCallLog(system.database)).lagSeconds).toBeGreaterThan(7_000);
  isReachable = true;
  await run(signal);
  expect((await measureCallLog(system.database)).lagSeconds).toBeLessThan(600);
});

test("a finished task cannot be claimed again within `everySeconds`, unless the clock was set back", async () => {
  const newLease = () => ({ task: "rare", holder: randomUUID(), leaseSeconds: 120 });
  const everySeconds = 3_600;
  const [first, second] = [newLease(), newLease()];
  expect(await claimLease(system.database, first, everySeconds)).toBeDefined();
  await finishTask(system.database, first, everySeconds);
  for (const lease of [first, second]) expect(await claimLease(system.database, lease, everySeconds)).toBeUndefined();
  // A due_at much more than `everySeconds` in the future means that the database's clock was set back.
  await system.admin.query(
    "UPDATE conversation.task_leases SET due_at = now() + interval '2 hours' WHERE task = 'rare'",
  );
  expect(await claimLease(system.database, second, everySeconds)).toBeDefined();
});
