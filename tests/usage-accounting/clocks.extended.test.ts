import { fileURLToPath } from "node:url";
import { nodeFlags, type TestDatabase } from "@parley/test-support";
import { afterEach, expect, test } from "vitest";
import { chat } from "../system/chat.ts";
import { createPlan, queryFirstRow, readBalance } from "../system/database.ts";
import { createTenant, type System, startSystem } from "../system/system.ts";

const SETTLE_TIMEOUT_MS = 20_000;

let system: System;
afterEach(() => system?.stop());

/** Replaces now(), with which the quota service determines the month, by a function that adds the interval in clock.shift. */
async function installClock(database: TestDatabase): Promise<void> {
  await queryFirstRow(
    database,
    `CREATE SCHEMA clock;
     CREATE TABLE clock.shift (by interval NOT NULL);
     INSERT INTO clock.shift VALUES ('0');
     CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql STABLE
       AS 'SELECT pg_catalog.now() + (SELECT by FROM clock.shift)';
     GRANT USAGE ON SCHEMA clock TO PUBLIC;
     GRANT SELECT ON clock.shift TO PUBLIC;
     ALTER ROLE parley_quota IN DATABASE "${database.name}" SET search_path = clock, pg_catalog;`,
  );
}

/**
 * Sets the quota service's clock relative to the end of the database's current month. Returns that month and the next.
 * @param toMonthEnd an interval: the time before the month's end, or after it if negative
 */
function setTimeToMonthEnd(database: TestDatabase, toMonthEnd: string): Promise<{ month: string; next: string }> {
  return queryFirstRow<{ month: string; next: string }>(
    database,
    `WITH month_end AS (SELECT date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month' AS at)
     UPDATE clock.shift SET by = (SELECT at AT TIME ZONE 'UTC' FROM month_end) - $1::interval - now()
     RETURNING to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM') AS month,
               to_char((SELECT at FROM month_end), 'YYYY-MM') AS next`,
    [toMonthEnd],
  );
}

test("a reply that spans the end of a month is counted once, in the old month", async () => {
  system = await startSystem({ prepareDatabase: installClock });
  await createPlan(system.database, "cap-1", 1);
  const tenant = await createTenant(system.admin, { plan: "cap-1", model: "openai:slow-300" });
  const { workspaceId } = tenant;
  const { month, next } = await setTimeToMonthEnd(system.database, "1 minute");

  const pending = chat(system.url(), tenant);
  // After the hold, the reply takes another 3 s.
  await expect.poll(() => readBalance(system.database), { timeout: SETTLE_TIMEOUT_MS }).toMatchObject({ held: 1 });
  await setTimeToMonthEnd(system.database, "-1 second");
  const reply = await pending;
  expect(reply.done).toMatchObject({ finish_reason: "stop" });
  expect(Number(reply.done?.latency_ms)).toBeGreaterThan(2_000);
  await expect
    .poll(async () => (await system.admin.workspaces.showUsage({ workspaceId, month })).usage, {
      timeout: SETTLE_TIMEOUT_MS,
    })
    .toMatchObject({ used: 1, held: 0, month });
  expect((await system.admin.workspaces.showUsage({ workspaceId, month: next })).usage).toMatchObject({
    used: 0,
    held: 0,
  });

  // The new month has a cap of 1 again.
  expect((await chat(system.url(), tenant)).done).toMatchObject({ finish_reason: "stop" });
  expect((await chat(system.url(), tenant)).done).toMatchObject({ finish_reason: "quota_exceeded" });
  await expect
    .poll(() => readBalance(system.database), { timeout: SETTLE_TIMEOUT_MS })
    .toMatchObject({ done: 2, used: 2, ledger: 2, held: 0 });
  // The call log uses the month that the quota service returned.
  for (const calendarMonth of [month, next]) {
    await expect
      .poll(async () => (await system.admin.callLog.sumCalls({ month: calendarMonth, workspaceId })).sums, {
        timeout: SETTLE_TIMEOUT_MS,
      })
      .toEqual([expect.objectContaining({ calls: 1n })]);
  }
});

test("every reply is counted when the services' clocks are wrong by an hour in different directions", async () => {
  const preload = fileURLToPath(new URL("../system/faults/skewed-clock.ts", import.meta.url));
  const skewedClockEnv = (hours: number) => ({
    NODE_OPTIONS: [...nodeFlags, "--import", preload].join(" "),
    CLOCK_SKEW_MS: String(hours * 3_600_000),
  });
  system = await startSystem({
    env: {
      edge: skewedClockEnv(1),
      conversation: { ...skewedClockEnv(-1), EDGE_LEASE_SECONDS: "3" },
      quota: skewedClockEnv(1),
      "llm-proxy": skewedClockEnv(-1),
    },
  });
  const tenant = await createTenant(system.admin, { model: "openai:slow-400" });
  // Each reply takes longer than a lease, so sweeps check whether the edge's lease has lapsed. Only the database's clock may decide this.
  const replies = await Promise.all(Array.from({ length: 5 }, () => chat(system.url(), tenant)));
  for (const reply of replies) expect(reply.done).toMatchObject({ finish_reason: "stop" });
  await expect
    .poll(() => readBalance(system.database), { timeout: SETTLE_TIMEOUT_MS })
    .toMatchObject({ done: 5, used: 5, ledger: 5, held: 0, outbox: 0 });
  const { usage } = await system.admin.workspaces.showUsage({ workspaceId: tenant.workspaceId });
  const { month } = await queryFirstRow<{ month: string }>(
    system.database,
    "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM') AS month",
  );
  expect(usage).toMatchObject({ month, used: 5 });
});
