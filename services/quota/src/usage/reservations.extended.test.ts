import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase } from "../testing/quota-database.ts";
import { reserve } from "./reservations.store.ts";
import { type Settlement, settle } from "./settlements.store.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

const settlement = (workspaceId: string, turnId: string, outcome: "done"): Settlement => ({
  workspaceId,
  turnId,
  outcome,
  month: undefined,
});

describe("with locked usage rows", () => {
  test("Settle returns before its caller's deadline of 5 s when the usage rows of several workspaces are locked", async () => {
    const locked: string[] = [];
    const batch: Settlement[] = [];
    for (let n = 0; n < 500; n++) {
      const workspaceId = await createWorkspace(quota, 10);
      const turnId = randomUUID();
      batch.push(settlement(workspaceId, turnId, "done"));
      if (n % 100 !== 50) continue;
      await reserve(quota.database, workspaceId, turnId);
      locked.push(workspaceId);
    }
    const locker = await quota.admin.connect();
    await locker.query("BEGIN");
    await locker.query("SELECT FROM quota.usage WHERE workspace_id = ANY($1) FOR UPDATE", [locked]);
    const startedAtMs = performance.now();
    const settled = await settle(quota.database, batch);
    expect(performance.now() - startedAtMs).toBeLessThan(4_500);
    expect(settled).toHaveLength(495);
    await locker.query("ROLLBACK");
    locker.release();
    expect(await settle(quota.database, batch)).toHaveLength(500);
  });
});

test("Settle stops splitting a batch after 2 s if PostgreSQL refuses each of its turns", async () => {
  const broken = await createWorkspace(quota, 1_000);
  const batch = Array.from({ length: 500 }, () => settlement(broken, randomUUID(), "done"));
  for (const { turnId } of batch) await reserve(quota.database, broken, turnId);
  // Settling a turn would make `held` negative, which a constraint refuses.
  await quota.admin.query("UPDATE quota.usage SET held = 0 WHERE workspace_id = $1", [broken]);
  // Makes each Settle statement slow, as on a busy server.
  await quota.admin.query(`
    CREATE FUNCTION quota.sleep_before_settling() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_sleep(0.1); RETURN NULL; END';
    CREATE TRIGGER sleep_before_settling BEFORE INSERT ON quota.reservations
      EXECUTE FUNCTION quota.sleep_before_settling()`);
  const failed: string[] = [];
  const reportsOfUntried: string[][] = [];
  const startedAtMs = performance.now();
  const settled = await settle(quota.database, batch, {
    onFailure: (turns) => failed.push(...turns.map((turn) => turn.turnId)),
    onUntried: (turns) => reportsOfUntried.push(turns.map((turn) => turn.turnId)),
  });
  expect(performance.now() - startedAtMs).toBeLessThan(3_500);
  await quota.admin.query("DROP FUNCTION quota.sleep_before_settling CASCADE");
  expect(settled).toEqual([]);
  expect(reportsOfUntried).toHaveLength(1);
  expect(failed.length).toBeLessThan(250);
  expect([...failed, ...reportsOfUntried.flat()].sort()).toEqual(batch.map((turn) => turn.turnId).sort());
});
