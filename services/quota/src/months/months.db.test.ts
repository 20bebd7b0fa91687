import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { SettleOutcomeName } from "@parley/rpc/outcomes";
import { createLogger, createRegistry, singleShard } from "@parley/service-kit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { adjustTurns } from "../reconciliation/adjustments.store.ts";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase } from "../testing/quota-database.ts";
import { readMonth, readMonthPage } from "../usage/index.ts";
import { reserve } from "../usage/reservations.store.ts";
import { settle } from "../usage/settlements.store.ts";
import { createPrunedRowCounter } from "./months.metrics.ts";
import { addMonths, closeMonth, listMonths, measureUnclosedMonth } from "./months.store.ts";
import { pruneLedger, pruneVoidReservations } from "./prune.store.ts";
import { type PruneDeps, pruneUsage } from "./prune.worker.ts";

const MONTH = "2024-03";

let quota: QuotaDatabase;
let workspace: string;
beforeEach(async () => {
  quota = await createQuotaDatabase();
  workspace = await createWorkspace(quota, 1_000);
});
afterEach(() => quota.drop());

const settlement = (turnId: string, outcome: SettleOutcomeName) => ({
  workspaceId: workspace,
  turnId,
  outcome,
  month: MONTH,
});

/** Settles turns without holds as done. Returns their ids. Settle counts them in the settlement's month, MONTH. */
async function settleAsDone(count: number): Promise<string[]> {
  const turns = Array.from({ length: count }, () => randomUUID());
  await settle(
    quota.database,
    turns.map((turn) => settlement(turn, "done")),
  );
  return turns;
}

/** Adds the months with usage as if the worker had done so two minutes ago, because closeMonth refuses months added in the last minute. */
async function addMonthsEarlier(): Promise<void> {
  await addMonths(quota.database);
  await quota.admin.query("UPDATE quota.months SET created_at = now() - interval '2 minutes'");
}

async function close(used: number): Promise<void> {
  await addMonthsEarlier();
  expect(await closeMonth(quota.database, MONTH, used)).toBeUndefined();
}

/** Makes the month's close old enough for its rows to be pruned. */
const ageClose = () => quota.admin.query("UPDATE quota.months SET closed_at = closed_at - interval '2 days'");

function pruneOnlyShard(deps: Omit<PruneDeps, "shards">): Promise<void> {
  const { database } = quota;
  const { shards } = singleShard(database);
  return pruneUsage({ ...deps, shards }, { number: 0, database }, new AbortController().signal);
}

const readTotals = async () => (await readMonth(quota.database, workspace, MONTH))[0];

test("closes a month only if it has ended, has no holds and has the expected usage", async () => {
  await settleAsDone(3);
  await addMonths(quota.database);
  expect(await closeMonth(quota.database, MONTH, 3)).toBe("month_not_ended");
  await addMonthsEarlier();
  expect(await closeMonth(quota.database, MONTH, 2)).toBe("month_changed");
  const held = randomUUID();
  await reserve(quota.database, workspace, held);
  await addMonthsEarlier();
  const { rows } = await quota.admin.query<{ month: string }>(
    "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM') AS month",
  );
  expect(await closeMonth(quota.database, rows[0]?.month ?? "", 0)).toBe("month_not_ended");
  await quota.admin.query("UPDATE quota.reservations SET month = '2024-03-01' WHERE turn_id = $1", [held]);
  await quota.admin.query("UPDATE quota.usage SET held = (month = '2024-03-01')::integer");
  expect(await closeMonth(quota.database, MONTH, 3)).toBe("month_has_holds");
  await settle(quota.database, [settlement(held, "done")]);
  expect((await measureUnclosedMonth(quota.database)).unclosedSeconds).toBeGreaterThan(86_400 * 365);
  expect(await closeMonth(quota.database, MONTH, 4)).toBeUndefined();
  expect(await closeMonth(quota.database, MONTH, 0)).toBeUndefined();
  expect((await measureUnclosedMonth(quota.database)).unclosedSeconds).toBe(0);
  expect((await listMonths(quota.database)).at(-1)).toMatchObject({
    month: MONTH,
    used: 4,
    held: 0,
    pruned: 0,
    closedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    prunedAt: "",
  });
});

test("in a closed month, Settle counts nothing, returns month_closed for new turns and keeps settled turns' outcomes, and adjustTurns adjusts nothing", async () => {
  const [counted = ""] = await settleAsDone(1);
  await close(1);
  const [late, voided, current] = [randomUUID(), randomUUID(), randomUUID()];
  const batch = [
    settlement(counted, "void"),
    settlement(late, "done"),
    settlement(voided, "void"),
    { ...settlement(current, "done"), month: undefined },
  ];
  for (let repeat = 0; repeat < 2; repeat++) {
    const settled = await settle(quota.database, batch);
    expect(Object.fromEntries(settled.map(({ turnId, outcome, code }) => [turnId, [outcome, code]]))).toEqual({
      [counted]: ["done", ""],
      [late]: ["void", "month_closed"],
      [voided]: ["void", "month_closed"],
      [current]: ["done", ""],
    });
  }
  expect(await readTotals()).toMatchObject({ used: 1, ledger: 1, held: 0 });
  const turns = [counted, late].map((turnId) => ({ workspaceId: workspace, turnId }));
  expect(await adjustTurns(quota.database, { turns, outcome: "void", reason: "reconciled" })).toEqual({
    adjusted: [],
    belowZeroCount: 0,
  });
  expect(await readTotals()).toMatchObject({ used: 1, ledger: 1 });
});

test("a Settle and a close of the same month run one after the other, whichever is first", async () => {
  await settleAsDone(1);
  await addMonthsEarlier();
  const connection = await quota.admin.connect();
  try {
    // Settle has locked the month and has not committed.
    await connection.query("BEGIN");
    const running = settle({ ...quota.database, query: connection.query.bind(connection) } as never, [
      settlement(randomUUID(), "done"),
    ]);
    expect(await running).toMatchObject([{ outcome: "done", code: "" }]);
    const closing = closeMonth(quota.database, MONTH, 1);
    expect(await Promise.race([closing, sleep(300, "waits")])).toBe("waits");
    await connection.query("COMMIT");
    expect(await closing).toBe("month_changed");
    // A close has locked the month and has not committed.
    await connection.query("BEGIN");
    await connection.query("SELECT FROM quota.months WHERE month = '2024-03-01' FOR UPDATE");
    await connection.query("UPDATE quota.months SET closed_at = now() WHERE month = '2024-03-01'");
    const late = settle(quota.database, [settlement(randomUUID(), "done")]);
    expect(await Promise.race([late, sleep(300, "waits")])).toBe("waits");
    await connection.query("COMMIT");
    expect(await late).toMatchObject([{ outcome: "void", code: "month_closed" }]);
  } finally {
    connection.release();
  }
  expect(await readTotals()).toMatchObject({ used: 2, ledger: 2 });
});

test("Settle counts no turn in a month after its close, even if several Settle calls run during the close", async () => {
  await settleAsDone(1);
  await addMonthsEarlier();
  const results: Awaited<ReturnType<typeof settle>> = [];
  const count = (code: string) => results.filter((each) => each.code === code).length;
  const settleUntilRefused = async () => {
    while (count("month_closed") === 0) {
      results.push(...(await settle(quota.database, [settlement(randomUUID(), "done")])));
      // Leaves moments without a settlement, in which the close succeeds.
      await sleep(5);
    }
  };
  const settling = Promise.all(Array.from({ length: 4 }, settleUntilRefused));
  await expect.poll(() => count("")).toBeGreaterThan(0);
  let refusal: string | undefined = "month_changed";
  let used = 0;
  while (refusal === "month_changed") {
    used = (await readTotals())?.used ?? 0;
    refusal = await closeMonth(quota.database, MONTH, used);
  }
  expect(refusal).toBeUndefined();
  await settling;
  // One turn was counted before the concurrent settlements.
  expect(await readTotals()).toMatchObject({ used, ledger: used });
  expect(count("")).toBe(used - 1);
  expect(count("") + count("month_closed")).toBe(results.length);
});

test("pruning replaces the rows of a closed month with totals, and the month's usage and digest stay the same", async () => {
  const turns = await settleAsDone(2_005);
  const adjusted = [{ workspaceId: workspace, turnId: turns[0] ?? "" }];
  await adjustTurns(quota.database, { turns: adjusted, outcome: "void", reason: "reconciled" });
  const before = await readTotals();
  expect(before).toMatchObject({ used: 2_004, ledger: 2_004, pruned: 0 });
  const prunedRows = createPrunedRowCounter(createRegistry("months-test"));
  const log = createLogger("test", "silent");
  const prune = (retentionMonths: number) => pruneOnlyShard({ retentionMonths, prunedRows, log });
  const countRows = async () => {
    const { rows } = await quota.admin.query<{ ledger: number; reservations: number }>(
      `SELECT (SELECT count(*) FROM quota.ledger WHERE month = '2024-03-01') AS ledger,
              (SELECT count(*) FROM quota.reservations WHERE month = '2024-03-01') AS reservations`,
    );
    return rows[0];
  };
  // An open month is kept, whatever its age.
  await prune(13);
  expect(await countRows()).toEqual({ ledger: 2_005, reservations: 2_005 });
  await close(2_004);
  await ageClose();
  // A retention of 0 keeps the rows without limit.
  await prune(0);
  expect(await countRows()).toEqual({ ledger: 2_005, reservations: 2_005 });
  await prune(13);
  expect(await countRows()).toEqual({ ledger: 0, reservations: 0 });
  const after = { ...before, pruned: 2_005 };
  expect(await readTotals()).toEqual(after);
  expect(await readMonthPage(quota.database, MONTH, { after: "", limit: 10 })).toEqual([after]);
  expect((await listMonths(quota.database)).at(-1)).toMatchObject({
    pruned: 2_005,
    prunedAt: expect.stringMatching(/Z$/),
  });
  // A turn whose rows are gone is not counted again.
  const [again] = await settle(quota.database, [settlement(turns[1] ?? "", "done")]);
  expect(again).toMatchObject({ outcome: "void", code: "month_closed" });
  expect(await readTotals()).toEqual(after);
});

test("pruning reaches the rows of a workspace that comes after 1,100 workspaces with nothing to prune", async () => {
  await settleAsDone(1);
  await close(1);
  await ageClose();
  await quota.admin.query(
    `INSERT INTO quota.usage (workspace_id, month)
     SELECT 'empty_' || number, '2024-03-01' FROM generate_series(1, 1100) AS number`,
  );
  const prunedRows = createPrunedRowCounter(createRegistry("months-test"));
  await pruneOnlyShard({ retentionMonths: 13, prunedRows, log: createLogger("test", "silent") });
  expect(await readTotals()).toMatchObject({ pruned: 1 });
  expect((await listMonths(quota.database)).at(-1)?.prunedAt).toMatch(/Z$/);
});

test("the service's role cannot delete from the usage ledger, and prune_ledger refuses open and recent months", async () => {
  await settleAsDone(1);
  await addMonths(quota.database);
  for (const table of ["ledger", "ledger_totals"])
    await expect(quota.database.query(`DELETE FROM quota.${table}`)).rejects.toThrow("permission denied");
  const prune = () => pruneLedger(quota.database, { workspaceId: workspace, month: MONTH, limit: 10 });
  await expect(prune()).rejects.toThrow("not closed");
  await close(1);
  await expect(prune()).rejects.toThrow("not closed, or too recent");
  await ageClose();
  // PostgreSQL sends an error before it releases the failed call's lock. Until then, prune_ledger returns null.
  await expect.poll(prune).toBe(1);
  const { rows } = await quota.admin.query<{ month: string }>(
    `INSERT INTO quota.months (month, closed_at)
     SELECT date_trunc('month', now() - interval '3 months')::date, now() - interval '2 days' RETURNING to_char(month, 'YYYY-MM') AS month`,
  );
  await expect(
    pruneLedger(quota.database, { workspaceId: workspace, month: rows[0]?.month ?? "", limit: 10 }),
  ).rejects.toThrow("too recent");
});

test("after a week, the worker deletes the void reservation of a turn refused at the cap, and prune_void_reservations deletes no reservation younger than a day", async () => {
  const full = await createWorkspace(quota, 0);
  const refused = randomUUID();
  expect(await reserve(quota.database, full, refused)).toMatchObject({ status: "exceeded" });
  await settle(quota.database, [{ workspaceId: full, turnId: refused, outcome: "void", month: undefined }]);
  const [counted = "", adjusted = ""] = await settleAsDone(2);
  const turns = [{ workspaceId: workspace, turnId: adjusted }];
  await adjustTurns(quota.database, { turns, outcome: "void", reason: "reconciled" });
  const age = (days: number) =>
    quota.admin.query("UPDATE quota.reservations SET settled_at = now() - make_interval(days => $1)", [days]);
  const listRemaining = async () => {
    const { rows } = await quota.admin.query<{ turn_id: string }>("SELECT turn_id FROM quota.reservations");
    return new Set(rows.map((row) => row.turn_id));
  };
  expect(await pruneVoidReservations(quota.database, { minAgeDays: 0, limit: 10 })).toBe(0);
  const prunedRows = createPrunedRowCounter(createRegistry("void-test"));
  const prune = () => pruneOnlyShard({ retentionMonths: 13, prunedRows, log: createLogger("test", "silent") });
  await age(6);
  await prune();
  expect(await listRemaining()).toEqual(new Set([refused, counted, adjusted]));
  await age(8);
  await prune();
  // The adjusted turn's reservation is void too, but the usage ledger still has the turn.
  expect(await listRemaining()).toEqual(new Set([counted, adjusted]));
  expect((await prunedRows.get()).values).toContainEqual(
    expect.objectContaining({ labels: { table: "reservations" }, value: 1 }),
  );
});
