import { createLogger, createRegistry, singleShard } from "@parley/service-kit";
import { expect, test } from "vitest";
import { type Progress, readTask } from "../leases/index.ts";
import { useTestSystem } from "../testing/system.ts";
import { createBot, newClosing, newTurn, runTurn } from "../testing/turns.ts";
import { closeTurn } from "../turns/close-turn.store.ts";
import { auditPage, auditUsage, WORKSPACES_PER_PAGE } from "./usage-audit.service.ts";
import { createUsageAuditTask, registerUsageAuditGauge } from "./usage-audit.worker.ts";

const system = useTestSystem();
const log = createLogger("test", "silent");
const signal = new AbortController().signal;

/** Sorts as the test databases do. */
const collator = new Intl.Collator("en-US");

/** Returns a fake quota service with this usage of each workspace. It lists no turns. */
function createFakeQuota(usage: Record<string, { used: number; ledgerDigest: bigint }>) {
  const requestedMonths: string[] = [];
  const limits: number[] = [];
  return {
    requestedMonths,
    /** The `maxWorkspaces` of each getMonth call without a workspace id; 0 if the call sets no limit. */
    limits,
    listUnpaid: async () => ({ day: "2026-11-30", workspaces: [] }),
    async getMonth({ month = "", workspaceId = "", maxWorkspaces = 0, afterWorkspaceId = "" }) {
      requestedMonths.push(month);
      if (workspaceId === "") limits.push(maxWorkspaces);
      const isAfter = (id: string) => collator.compare(id, afterWorkspaceId) > 0;
      const ids = Object.keys(usage).filter((id) => isAfter(id) && ["", id].includes(workspaceId));
      const page = ids.sort(collator.compare).slice(0, maxWorkspaces || ids.length);
      return {
        month,
        workspaces: page.map((id) => ({
          workspaceId: id,
          held: 0,
          used: usage[id]?.used ?? 0,
          ledger: usage[id]?.used ?? 0,
          ledgerDigest: usage[id]?.ledgerDigest ?? 0n,
        })),
      };
    },
    async *listMonthTurns() {
      yield { counted: [], held: [] };
    },
    getReservations: async () => ({ reservations: [] }),
  } as never as Parameters<typeof auditPage>[1] & { requestedMonths: string[]; limits: number[] };
}

test("each workspace that has turns, usage or both is on exactly one page", async () => {
  const turnsOnly = ["org_aB", "org_B1", "org_C3"];
  const usageOnly = ["a-1", "B-2", "a-3", "zz-1", "ZZ-2", "zz-3", "org_ab", "org_B0"];
  const both = ["org_Ab", "org_b2"];
  const bots = await Promise.all(
    [...turnsOnly, ...both].map((workspaceId) => createBot(system.database, { workspaceId })),
  );
  for (const bot of bots) await runTurn(system.database, newTurn(bot), { month: "2020-01" });
  const usage = Object.fromEntries([...usageOnly, ...both].map((id) => [id, { used: 2, ledgerDigest: 1n }]));
  const found: [string, number, number][] = [];
  for (let after = ""; ; ) {
    const page = await auditPage(system.database, createFakeQuota(usage), "2020-01", { after, limit: 2 });
    found.push(
      ...page.workspaces.map(({ id, doneMessages, used }): [string, number, number] => [id, doneMessages, used]),
    );
    after = page.next;
    if (after === "") break;
  }
  const expected = [
    ...turnsOnly.map((id) => [id, 1, 0]),
    ...usageOnly.map((id) => [id, 0, 2]),
    ...both.map((id) => [id, 1, 2]),
  ];
  expect(found).toHaveLength(expected.length);
  expect(new Set(found)).toEqual(new Set(expected));
});

test("a usage audit fails if quota's database sorts workspaces in another order", async () => {
  const usage = Object.fromEntries(["org_aB", "org_B1"].map((id) => [id, { used: 1, ledgerDigest: 1n }]));
  const { getMonth, ...others } = createFakeQuota(usage);
  const reversed: typeof getMonth = async (...call) => {
    const month = await getMonth(...call);
    return { ...month, workspaces: month.workspaces.toReversed() };
  };
  const page = { after: "", limit: 2 };
  await expect(auditPage(system.database, { ...others, getMonth: reversed }, "2020-01", page)).rejects.toMatchObject({
    code: "databases_sort_differently",
  });
});

test("a usage audit of all workspaces reads them in bounded pages, and stops when its caller cancels", async () => {
  const ids = Array.from({ length: 45 }, (_, n) => `paged-${10 + n}`);
  const quota = createFakeQuota(Object.fromEntries(ids.map((id) => [id, { used: 1, ledgerDigest: 1n }])));
  const request = { workspaceId: "", month: "2020-02" };
  const { workspaces } = await auditUsage(system.database, quota, request, signal);
  expect(workspaces.map(({ id }) => id)).toEqual(ids);
  expect(quota.limits).toEqual(Array(3).fill(WORKSPACES_PER_PAGE));
  await expect(auditUsage(system.database, quota, request, AbortSignal.abort())).rejects.toThrow("abort");
});

test("a run audits a bounded number of pages and turns, and the next run continues where the previous run stopped", async () => {
  const deleteProgress = () => system.database.query("DELETE FROM conversation.task_leases WHERE task = 'audit usage'");
  const bots = await Promise.all(Array.from({ length: 2 * WORKSPACES_PER_PAGE }, () => createBot(system.database)));
  const { rows } = await system.database.query<{ month: string }>(
    "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM') AS month",
  );
  const month = rows[0]?.month ?? "";
  for (const bot of bots) await runTurn(system.database, newTurn(bot), { month });
  const readProgressAfter = async () => (await readTask(system.database, "audit usage"))?.progress.after ?? "";
  // Each workspace has one turn, so both bounds end a run after one page.
  for (const bound of [{ pagesPerRun: 1 }, { turnsPerRun: WORKSPACES_PER_PAGE }]) {
    await deleteProgress();
    const quota = createFakeQuota({});
    const options = { everySeconds: 300, finalAfterDays: 7, ...bound };
    const run = createUsageAuditTask({ database: system.database, quota, log }, options);
    await run(signal);
    expect(quota.limits).toEqual([WORKSPACES_PER_PAGE]);
    const stoppedAfter = await readProgressAfter();
    expect(stoppedAfter).not.toBe("");
    await system.database.query("UPDATE conversation.task_leases SET due_at = now() WHERE task = 'audit usage'");
    await run(signal);
    expect(quota.limits).toHaveLength(2);
    expect((await readProgressAfter()) > stoppedAfter).toBe(true);
  }
  await deleteProgress();
});

test("one replica at a time audits, and every replica reports the result, or NaN if no run succeeded in the last 30 minutes", async () => {
  await system.database.query("DELETE FROM conversation.task_leases WHERE task = 'audit usage'");
  const bot = await createBot(system.database);
  const turn = newTurn(bot);
  const { month } = (
    await system.database.query<{ month: string }>("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM') AS month")
  ).rows[0] as { month: string };
  await runTurn(system.database, turn, { month });
  await closeTurn(system.database, newClosing(turn));
  await system.database.query("DELETE FROM conversation.outbox WHERE workspace_id = $1", [bot.workspaceId]);
  const registry = createRegistry("usage-audit-test");
  registerUsageAuditGauge(registry, singleShard(system.database).shards, log);
  const gauge = async () =>
    (await registry.getSingleMetric("parley_usage_unreconciled_workspaces")?.get())?.values[0]?.value;
  expect(await gauge()).toBeNaN();

  const quotas = [createFakeQuota({}), createFakeQuota({})];
  const tasks = quotas.map((quota) =>
    createUsageAuditTask({ database: system.database, quota, log }, { everySeconds: 300, finalAfterDays: 7 }),
  );
  await Promise.all(tasks.map((run) => run(signal)));
  expect(quotas.filter(({ requestedMonths }) => requestedMonths.length > 0)).toHaveLength(1);
  // A scrape that waits too long for the database reports NaN, so the first scrape may not suffice.
  await expect.poll(gauge).toBeGreaterThanOrEqual(1);
  const { progress } = (await readTask(system.database, "audit usage")) as { progress: Progress };
  expect(progress.differing).toContain(`${month} ${bot.workspaceId}`);

  await system.database.query(
    "UPDATE conversation.task_leases SET succeeded_at = now() - interval '31 minutes' WHERE task = 'audit usage'",
  );
  expect(await gauge()).toBeNaN();
});
