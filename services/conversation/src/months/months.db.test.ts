import type { RpcClient } from "@parley/rpc";
import { QuotaService } from "@parley/rpc/quota";
import { connectPeer, createLogger, createRegistry, fixedTokens, Lifecycle } from "@parley/service-kit";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { createPrunedRowCounter } from "../metrics.ts";
import { compareDoneTurns } from "../reconciliation/reconcile.service.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { startTestQuota, type TestQuota } from "../testing/quota.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { openTurn } from "../turns/open-turn.store.ts";
import { auditPage, auditUsage } from "../usage-audit/usage-audit.service.ts";
import { countDoneTurns } from "../usage-audit/usage-audit.store.ts";
import { createCloseMonthsTask } from "./close-months.worker.ts";
import { storeClosedMonths } from "./months.store.ts";
import { pruneTurns } from "./prune.store.ts";
import { createPruneTurnsTask } from "./prune-turns.worker.ts";

const MONTH = "2024-03";
const DAY_SECONDS = 86_400;
const log = createLogger("test", "silent");
const { signal } = new AbortController();

let db: TestDatabase;
let quota: TestQuota;
let bot: Bot;
let lifecycle: Lifecycle;
let deps: { database: TestDatabase["database"]; quota: RpcClient<typeof QuotaService>; log: typeof log };
let reasons: unknown[];
beforeEach(async () => {
  db = await createTestDatabase();
  quota = await startTestQuota();
  bot = await createBot(db.database);
  lifecycle = new Lifecycle(log);
  lifecycle.onClose("database", () => db.drop());
  lifecycle.onClose("quota", () => quota.close());
  const client = connectPeer(QuotaService, { target: quota.target, internalTokens: fixedTokens("t") }, lifecycle);
  reasons = [];
  const warn = ({ reason }: { reason: unknown }) => reasons.push(reason);
  deps = { database: db.database, quota: client, log: { ...log, warn } as never };
});
afterEach(() => lifecycle.close());

/** Completes `count` turns of the month, and settles the first `settled` of them with quota. */
async function completeTurns(count: number, { settled = count } = {}): Promise<string[]> {
  const turns = Array.from({ length: count }, () => newTurn(bot));
  for (const turn of turns) await runTurn(db.database, turn, { month: MONTH });
  const settlements = turns.slice(0, settled).map(({ workspaceId, turnId }) => {
    return { workspaceId, turnId, outcome: 1, month: MONTH };
  });
  await deps.quota.settle({ settlements }, { timeoutMs: 5_000 });
  await db.admin.query("DELETE FROM conversation.outbox");
  return turns.map(({ turnId }) => turnId);
}

/** Adds a month to quota's list. Returns the entry, whose `closedAt` changes when the month is closed. */
const addMonth = (used: number, { month = MONTH, closedAt = "", endedSeconds = 400 * DAY_SECONDS } = {}) => {
  const entry = { month, closedAt, endedSeconds, used: BigInt(used) };
  quota.months.push(entry);
  return entry;
};

/** Runs the task once, whether or not it is due. Returns why months were not closed. */
async function closeMonths(limits: { turnsPerRun?: number } = {}): Promise<unknown[]> {
  await db.admin.query("UPDATE conversation.task_leases SET due_at = now()");
  reasons.length = 0;
  await createCloseMonthsTask(deps, { everySeconds: 300, finalAfterDays: 7, ...limits })(signal);
  return [...reasons];
}

const readClosedMonths = async () =>
  (await db.database.query("SELECT to_char(month, 'YYYY-MM') AS month FROM conversation.closed_months")).rows.map(
    ({ month }) => month,
  );

test("the task closes a month whose turns are settled and match its usage, but no month that ended recently", async () => {
  await completeTurns(3);
  const month = addMonth(3);
  const recent = addMonth(0, { month: "2026-10", endedSeconds: 6 * DAY_SECONDS });
  expect(await closeMonths()).toEqual([]);
  expect(month.closedAt).not.toBe("");
  expect(recent.closedAt).toBe("");
  // Each run first stores the months that quota has closed. So only the next run stores the month that this run closed.
  expect(await readClosedMonths()).toEqual([]);
  await closeMonths();
  expect(await readClosedMonths()).toEqual([MONTH]);
  // After a restore of its database, quota no longer lists the month.
  quota.months.splice(0, 1);
  await closeMonths();
  expect(await readClosedMonths()).toEqual([]);
});

test("a run that has compared `turnsPerRun` turns does not start with another month, but the next run does", async () => {
  await completeTurns(2);
  const month = addMonth(2);
  const later = addMonth(0, { month: "2024-04" });
  await closeMonths({ turnsPerRun: 2 });
  expect([month.closedAt, later.closedAt]).toEqual([expect.stringMatching(/Z$/), ""]);
  await closeMonths({ turnsPerRun: 2 });
  expect(later.closedAt).toMatch(/Z$/);
});

test("the task closes no month with a streaming turn, a turn in the outbox or turns that differ from its usage, and closes other months", async () => {
  await completeTurns(2);
  const month = addMonth(2);
  const streaming = newTurn(bot);
  await openTurn(db.database, streaming);
  // The streaming turn was opened after the month's end, so the month is closed.
  expect(await closeMonths()).toEqual([]);
  month.closedAt = "";
  await db.admin.query("UPDATE conversation.turns SET opened_at = '2024-03-31T23:59:59Z' WHERE turn_id = $1", [
    streaming.turnId,
  ]);
  expect(await closeMonths()).toEqual(["turns_streaming"]);
  await db.admin.query("DELETE FROM conversation.turns WHERE turn_id = $1", [streaming.turnId]);
  await db.admin.query(
    "INSERT INTO conversation.outbox VALUES ($1, gen_random_uuid(), 'void', NULL, '2024-04-01T00:00:05Z')",
    [bot.workspaceId],
  );
  expect(await closeMonths()).toEqual(["turns_in_outbox"]);
  await db.admin.query("DELETE FROM conversation.outbox");
  await completeTurns(1, { settled: 0 });
  const other = addMonth(0, { month: "2024-02" });
  expect(await closeMonths()).toEqual(["turns_and_usage_differ"]);
  expect([month.closedAt, other.closedAt]).toEqual(["", expect.stringMatching(/Z$/)]);
});

test("the task does not close a month whose usage changed after the comparison", async () => {
  await completeTurns(2);
  // The usage has one reply more than the two turns that agree with quota, as if quota had counted a reply after the comparison.
  const month = addMonth(3);
  expect(await closeMonths()).toEqual(["month_changed"]);
  expect(month.closedAt).toBe("");
});

test("only one replica at a time compares turns, and after a failure the next run continues after the last compared page", async () => {
  const bots = await Promise.all(Array.from({ length: 25 }, () => createBot(db.database)));
  for (bot of bots) await completeTurns(1);
  const month = addMonth(25);
  const savedProgress = {
    month: MONTH,
    after: [...bots.map((each) => each.workspaceId)].sort((a, b) => (a < b ? -1 : 1))[19],
    used: "20",
  };
  const task = () => createCloseMonthsTask(deps, { everySeconds: 300, finalAfterDays: 7 });
  const getMonth = deps.quota.getMonth.bind(deps.quota);
  let pages = 0;
  let runs: Promise<void>[] = [];
  Object.assign(deps.quota, {
    getMonth: async (...parameters: Parameters<typeof getMonth>) => {
      if (++pages === 2) {
        // Waits until the other replica has found the task leased. Otherwise the other replica could lease the task after this failure.
        await Promise.race(runs);
        throw new Error("quota is away");
      }
      return getMonth(...parameters);
    },
  });
  runs = [task()(signal), task()(signal)];
  const results = await Promise.allSettled(runs);
  expect(results.filter(({ status }) => status === "rejected")).toHaveLength(1);
  expect(month.closedAt).toBe("");
  const { rows } = await db.database.query("SELECT progress FROM conversation.task_leases WHERE task = 'close months'");
  expect(rows[0]?.progress).toEqual(savedProgress);
  // Any replica may try again immediately.
  await task()(signal);
  expect(reasons).toEqual([]);
  expect(pages).toBe(3);
  expect(month.closedAt).not.toBe("");
});

const closeMonthLongAgo = () => storeClosedMonths(db.database, [{ month: MONTH, closedAt: "2024-04-09T00:00:00Z" }]);

function pruneNow(retentionMonths = 13): Promise<void> {
  const prunedRows = createPrunedRowCounter(createRegistry("prune-test"));
  return createPruneTurnsTask({ database: db.database, retentionMonths, prunedRows, log })(signal);
}

const countTurns = async () =>
  (await db.admin.query<{ n: number }>("SELECT count(*)::integer AS n FROM conversation.turns")).rows[0]?.n;

/** Creates turns that do not count against the quota and were closed within the month. */
async function createUncountedTurns(count: number): Promise<void> {
  for (let index = 0; index < count; index++)
    await runTurn(db.database, newTurn(bot), { outcome: "quota_exceeded", month: undefined });
  await db.admin.query("UPDATE conversation.turns SET closed_at = '2024-03-31T23:59:59Z'");
}

test("pruning moves the turns of a closed month to totals that the usage audit can still compare, and deletes uncounted turns that were closed before the month's end", async () => {
  const turns = await completeTurns(30);
  const [old, recent] = [newTurn(bot), newTurn(bot)];
  for (const turn of [old, recent]) await runTurn(db.database, turn, { outcome: "quota_exceeded", month: undefined });
  await db.admin.query("DELETE FROM conversation.outbox");
  await db.admin.query("UPDATE conversation.turns SET closed_at = '2024-03-31T23:59:59Z' WHERE turn_id = $1", [
    old.turnId,
  ]);
  const before = await countDoneTurns(db.database, bot.workspaceId, MONTH);
  await pruneNow();
  expect(await countTurns()).toBe(32);
  await closeMonthLongAgo();
  await db.admin.query("UPDATE conversation.task_leases SET due_at = now()");
  // A retention of 0 months keeps turns forever.
  await pruneNow(0);
  expect(await countTurns()).toBe(32);
  await pruneNow();
  expect(await countTurns()).toBe(1);
  const after = before.map((each) => ({ ...each, pruned: turns.length }));
  expect(before).toEqual([{ workspaceId: bot.workspaceId, done: 30, digest: expect.any(BigInt), pruned: 0 }]);
  expect(await countDoneTurns(db.database, bot.workspaceId, MONTH)).toEqual(after);
  const page = await auditPage(db.database, deps.quota, MONTH, { after: "", limit: 20 });
  expect(page).toMatchObject({ next: "", workspaces: [{ id: bot.workspaceId, doneMessages: 30, differences: [] }] });
  quota.deleteTurn(turns[0] ?? "");
  const { workspaces } = await auditUsage(
    db.database,
    deps.quota,
    { workspaceId: bot.workspaceId, month: MONTH },
    new AbortController().signal,
  );
  expect(workspaces[0]?.differences).toEqual([{ kind: "totals_differ", turnId: "" }]);
});

test.each([
  ["counted", () => completeTurns(3)],
  ["uncounted", () => createUncountedTurns(3)],
])(
  "pruning leaves a month unfinished while another transaction locks its %s turns, and the next run finishes it",
  async (_, createTurns) => {
    await createTurns();
    await db.admin.query("DELETE FROM conversation.outbox");
    await closeMonthLongAgo();
    const isPruned = async () =>
      (
        await db.admin.query<{ pruned: boolean }>(
          "SELECT pruned_at IS NOT NULL AS pruned FROM conversation.closed_months",
        )
      ).rows[0]?.pruned;
    const other = await db.admin.connect();
    await other.query("BEGIN; SELECT FROM conversation.turns FOR UPDATE");
    await pruneNow();
    expect([await countTurns(), await isPruned()]).toEqual([3, false]);
    await other.query("COMMIT");
    other.release();
    await db.admin.query("UPDATE conversation.task_leases SET due_at = now()");
    await pruneNow();
    expect([await countTurns(), await isPruned()]).toEqual([0, true]);
  },
);

test("the reconciler does not settle a turn again if quota has pruned the turn and the turn's month is closed", async () => {
  const [lost = ""] = await completeTurns(2);
  quota.deleteTurn(lost);
  const compare = () =>
    compareDoneTurns(
      { database: db.database, quota: deps.quota, notifySettler: () => undefined, onRepaired: () => undefined },
      { workspaceId: bot.workspaceId, since: "", minAgeSeconds: 0 },
      "",
    );
  await closeMonthLongAgo();
  expect(await compare()).toMatchObject({ checked: 2, repairs: [] });
  await storeClosedMonths(db.database, []);
  expect(await compare()).toMatchObject({ checked: 2, repairs: [{ turnId: lost, kind: "reply_not_counted" }] });
});

test("the service's role cannot delete totals, and prune_turns refuses open and recent months", async () => {
  await completeTurns(1);
  await expect(db.database.query("DELETE FROM conversation.turn_totals")).rejects.toThrow("permission denied");
  const prune = (month: string) => pruneTurns(db.database, { workspaceId: bot.workspaceId, month, limit: 10 });
  await expect(prune(MONTH)).rejects.toThrow("not closed");
  const { rows } = await db.admin.query<{ month: string }>(
    "SELECT to_char(date_trunc('month', now() - interval '3 months'), 'YYYY-MM') AS month",
  );
  const month = rows[0]?.month ?? "";
  await storeClosedMonths(db.database, [{ month, closedAt: "2024-04-09T00:00:00Z" }]);
  await expect(prune(month)).rejects.toThrow("too recent");
});
