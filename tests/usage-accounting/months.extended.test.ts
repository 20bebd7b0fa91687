import { randomUUID } from "node:crypto";
import { isFullRun, queryRows } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "../system/chat.ts";
import { cliEnv, runCliInProcess, runCliJson } from "../system/cli.ts";
import { copyTables, databaseOf, queryFirstRow, readBalance, waitUntilSettled } from "../system/database.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";

// The tests depend on their order. They need a system of their own, because a closed month is closed for all workspaces and the tests restart
// the services.

const MONTH = "2024-03";
const TURNS = 3;
const CLOSE_TIMEOUT_MS = 40_000;

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  system = await startSystem({
    // The conversation service tries to close months once in five intervals of the reconciler, here every 5 s. The minimum age keeps the
    // reconciler from correcting the unknown turns that the tests add.
    env: { conversation: { LOG_LEVEL: "error", RECONCILE_EVERY_SECONDS: "1", RECONCILE_MIN_AGE_SECONDS: "3600" } },
  });
  tenant = await createTenant(system.admin);
  for (let turn = 0; turn < TURNS; turn++)
    expect((await chat(system.url(), tenant)).done).toMatchObject({ finish_reason: "stop" });
  expect(await waitUntilSettled(system.database, 20_000)).toMatchObject({ used: TURNS, held: 0, outbox: 0 });
  await runSql(`
    UPDATE conversation.turns SET month = '2024-03-01', closed_at = '2024-03-15', opened_at = '2024-03-15';
    UPDATE quota.usage SET month = '2024-03-01';
    UPDATE quota.reservations SET month = '2024-03-01', settled_at = '2024-03-15T00:00:01Z', reserved_at = '2024-03-15';
    UPDATE quota.ledger SET month = '2024-03-01', counted_at = '2024-03-15T00:00:01Z';
  `);
});
afterAll(() => system?.stop());

const balance = () => readBalance(system.database, tenant.workspaceId);
const runSql = (sql: string) => queryRows(databaseOf(system, tenant.workspaceId).url, sql);
const BALANCED = { done: TURNS, used: TURNS, ledger: TURNS, held: 0, outbox: 0, unbalanced: 0 };

type ListedMonth = { month: string; state: string; used: number; pruned: number; closed_at: string; pruned_at: string };

const readMonth = async () => {
  const { months } = await runCliJson<{ months: ListedMonth[] }>(["usage", "months"], cliEnv(system));
  return months.find(({ month }) => month === MONTH);
};

const countRows = () =>
  queryFirstRow<{ turns: number; ledger: number; reservations: number }>(
    databaseOf(system, tenant.workspaceId),
    `SELECT (SELECT count(*) FROM conversation.turns WHERE month = '2024-03-01')::integer AS turns,
            (SELECT count(*) FROM quota.ledger WHERE month = '2024-03-01')::integer AS ledger,
            (SELECT count(*) FROM quota.reservations WHERE month = '2024-03-01')::integer AS reservations`,
  );

async function expectAuditPasses(): Promise<void> {
  expect((await runCliInProcess(["usage-audit", "--check", "--month", MONTH], cliEnv(system))).code).toBe(0);
}

/** Repairs the differences between turns and usage since 2024-01-01, which is before MONTH. Returns the repairs. */
async function repairAll(): Promise<unknown[]> {
  const args = ["usage-audit", "--repair", "--since", "2024-01-01"];
  return (await runCliJson<{ repairs: unknown[] }>(args, cliEnv(system))).repairs;
}

/** Adds to the outbox the outcome of a turn that conversation.turns lacks. After a restore, the outbox can contain such rows. */
async function enqueueUnknownTurn(): Promise<void> {
  await queryFirstRow(
    system.database,
    "INSERT INTO conversation.outbox (workspace_id, turn_id, outcome, month, created_at) VALUES ($1, $2, 'done', '2024-03-01', now())",
    [tenant.workspaceId, randomUUID()],
  );
}

test("an old month is closed once its turns are settled and its usage equals its done turns", async () => {
  // Quota counts the turn, which conversation.turns lacks. So the month stays open until the SQL below corrects the usage.
  await enqueueUnknownTurn();
  await expect.poll(balance, { timeout: 20_000 }).toMatchObject({ used: TURNS + 1, outbox: 0 });
  // When the quota service starts, it adds the month's row to quota.months.
  await system.quota.stop();
  await system.quota.start();
  await expect.poll(readMonth, { timeout: 20_000 }).toMatchObject({ state: "open", used: TURNS + 1 });
  // The quota service refuses to close a month less than a minute after it has created the month's row.
  await runSql("UPDATE quota.months SET created_at = now() - interval '2 minutes'");
  await runSql(`
    DELETE FROM quota.ledger WHERE turn_id NOT IN (SELECT turn_id FROM conversation.turns);
    DELETE FROM quota.reservations WHERE turn_id NOT IN (SELECT turn_id FROM conversation.turns);
    UPDATE quota.usage SET used = ${TURNS} WHERE month = '2024-03-01';
  `);
  await expect
    .poll(readMonth, { timeout: CLOSE_TIMEOUT_MS })
    .toMatchObject({ state: "closed", used: TURNS, pruned: 0, pruned_at: "" });
  await expectAuditPasses();
}, 90_000);

test("a settlement that comes after its month was closed counts nothing, and is deleted from the outbox", async () => {
  await enqueueUnknownTurn();
  await expect.poll(async () => (await balance()).outbox, { timeout: 20_000 }).toBe(0);
  expect(await balance()).toMatchObject(BALANCED);
  await expectAuditPasses();
});

const TABLES = {
  conversation: ["turns", "turn_totals", "outbox"],
  quota: ["usage", "reservations", "ledger", "ledger_totals", "months"],
};
let restore: Record<keyof typeof TABLES, () => Promise<unknown>>;

/** Copies the rows of a schema. Returns a function that restores them. */
async function backUp(schema: keyof typeof TABLES): Promise<() => Promise<unknown>> {
  const { restoreSql } = await copyTables(databaseOf(system, tenant.workspaceId), schema, TABLES[schema]);
  return () => runSql(`BEGIN; ${restoreSql} COMMIT`);
}

/** Changes the time of the month's close so that the month can be pruned, and restarts the services, which prune after they start. */
async function prune(): Promise<void> {
  const countClosed = async () => (await runSql("SELECT FROM conversation.closed_months")).length;
  await expect.poll(countClosed, { timeout: CLOSE_TIMEOUT_MS }).toBe(1);
  await runSql(`
    UPDATE quota.months SET closed_at = now() - interval '2 days';
    UPDATE conversation.closed_months SET closed_at = now() - interval '2 days', pruned_at = NULL;
    UPDATE conversation.task_leases SET due_at = now();
  `);
  await Promise.all([system.conversation.stop(), system.quota.stop()]);
  await Promise.all([system.conversation.start(), system.quota.start()]);
  await expect.poll(countRows, { timeout: CLOSE_TIMEOUT_MS }).toEqual({ turns: 0, ledger: 0, reservations: 0 });
  // Waits for the end of the pruning task, which would otherwise also prune the turns that a test restores.
  const countPruned = async () =>
    (await runSql("SELECT FROM conversation.closed_months WHERE pruned_at IS NOT NULL")).length;
  await expect.poll(countPruned, { timeout: CLOSE_TIMEOUT_MS }).toBe(1);
}

test("the rows of the closed month are pruned, and the usage audit compares the totals that replace them", async () => {
  restore = { conversation: await backUp("conversation"), quota: await backUp("quota") };
  await prune();
  await expect.poll(readMonth, { timeout: 20_000 }).toMatchObject({ state: "pruned", used: TURNS, pruned: TURNS });
  expect(await balance()).toMatchObject(BALANCED);
  await expectAuditPasses();
  expect(await repairAll()).toEqual([]);
}, 90_000);

test.runIf(isFullRun)(
  "after a restore of either database to a time before its prune, usage-audit --repair repairs nothing",
  async () => {
    await restore.quota();
    expect(await countRows()).toEqual({ turns: 0, ledger: TURNS, reservations: TURNS });
    expect(await repairAll()).toEqual([]);
    expect(await balance()).toMatchObject(BALANCED);
    // Reopens the month, as a restore to a time before its close would.
    await runSql("UPDATE quota.months SET closed_at = NULL, created_at = now() - interval '2 minutes'");
    expect(await repairAll()).toEqual([]);
    await expect.poll(readMonth, { timeout: CLOSE_TIMEOUT_MS }).toMatchObject({ state: "closed", used: TURNS });

    await prune();
    await restore.conversation();
    await expectAuditPasses();
    expect(await repairAll()).toEqual([]);
    expect(await balance()).toMatchObject(BALANCED);
    expect(await countRows()).toEqual({ turns: TURNS, ledger: 0, reservations: 0 });
  },
  120_000,
);
