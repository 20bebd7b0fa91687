import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat, postChat } from "../system/chat.ts";
import { cliEnv, runCliInProcess, runCliJson } from "../system/cli.ts";
import { queryFirstRow } from "../system/database.ts";
import { readMetric } from "../system/metrics.ts";
import { createTenant, type System, type Tenant } from "../system/system.ts";
import { visit } from "../system/visitors.ts";
import { createAccounting, REPAIR_TIMEOUT_MS, startReconcilingSystem } from "./accounting.ts";

const MIN_TURNS = 20;

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  system = await startReconcilingSystem();
});
afterAll(() => system?.stop());

const { auditExitCode, backUp, completeTurns, expectBalance, expectConsistentTurns, countRepairs } = createAccounting(
  () => ({
    system,
    tenant,
  }),
);

/** Creates the test's tenant and completes `turns` turns. */
async function createTenantWithTurns(turns: number): Promise<void> {
  tenant = await createTenant(system.admin);
  await completeTurns(turns);
}

/** Holds a message for a turn that was never opened. */
async function holdUnknownTurn(age: string): Promise<string> {
  const turnId = randomUUID();
  await queryFirstRow(
    system.database,
    `WITH hold AS (
       INSERT INTO quota.reservations (workspace_id, turn_id, month, state, reserved_at)
       VALUES ($1, $2, date_trunc('month', now() AT TIME ZONE 'UTC')::date, 'held', now() - $3::interval)
       RETURNING workspace_id, month
     )
     INSERT INTO quota.usage AS u (workspace_id, month, held) SELECT workspace_id, month, 1 FROM hold
     ON CONFLICT (workspace_id, month) DO UPDATE SET held = u.held + 1`,
    [tenant.workspaceId, turnId, age],
  );
  return turnId;
}

test("the reconciler releases a hold older than 10 minutes whose turn was never opened, and keeps a younger one", async () => {
  await createTenantWithTurns(1);
  await holdUnknownTurn("9 minutes");
  await holdUnknownTurn("11 minutes");
  await expectBalance({ done: 1, used: 1, held: 1 });
  await queryFirstRow(
    system.database,
    "UPDATE quota.reservations SET reserved_at = now() - interval '11 minutes' WHERE workspace_id = $1 AND state = 'held'",
    [tenant.workspaceId],
  );
  await expectConsistentTurns(1);
  // The conversation service counts a repair only after the quota service has responded.
  await expect.poll(() => countRepairs("held_without_turn"), { timeout: REPAIR_TIMEOUT_MS }).toBe(2);
}, 60_000);

test("the reconciler repairs nothing while turns run without a fault", async () => {
  await createTenantWithTurns(1);
  const before = await countRepairs();
  let turns = 1;
  const startedAt = performance.now();
  // The visitors chat for 5 s, or for up to 30 s if a busy machine completes too few turns in 5 s.
  const isOver = () => performance.now() - startedAt > (turns > MIN_TURNS ? 5_000 : 30_000);
  const sendMessages = async () => {
    while (!isOver()) if ((await visit(system.url(), tenant)).kind === "stream") turns++;
  };
  await Promise.all(Array.from({ length: 4 }, sendMessages));
  expect(turns).toBeGreaterThan(MIN_TURNS);
  await expectConsistentTurns(turns);
  expect(await countRepairs()).toBe(before);
  const readGauge = (name: string) => readMetric(system.conversation, `parley_reconciliation_${name}`);
  // A gauge is NaN if the database does not answer within 500 ms.
  await expect
    .poll(async () => Date.now() / 1_000 - (await readGauge("last_success_timestamp_seconds")), {
      timeout: REPAIR_TIMEOUT_MS,
    })
    .toBeLessThan(30);
  await expect.poll(() => readGauge("lag_seconds"), { timeout: REPAIR_TIMEOUT_MS }).toBeLessThan(60);
}, 60_000);

test("the reconciler restores rows that the call log has lost", async () => {
  await createTenantWithTurns(3);
  const values = [tenant.workspaceId];
  await system.llm.kill9();
  await queryFirstRow(system.database, "DELETE FROM llm.calls WHERE workspace_id = $1", values);
  await system.llm.start();
  const countRows = () =>
    queryFirstRow<{ rows: number; turns: number; sameTokens: number }>(
      system.database,
      `SELECT count(*)::integer AS rows, count(DISTINCT c.turn_id)::integer AS turns,
              count(*) FILTER (WHERE c.tokens_in = t.tokens_in AND c.tokens_out = t.tokens_out)::integer AS "sameTokens"
       FROM llm.calls c JOIN conversation.turns t USING (workspace_id, turn_id) WHERE workspace_id = $1 AND t.status = 'done'`,
      values,
    );
  await expect.poll(countRows, { timeout: REPAIR_TIMEOUT_MS }).toEqual({ rows: 3, turns: 3, sameTokens: 3 });
  // The edge may still be connecting to the llm-proxy.
  const finishReason = async () => (await chat(system.url(), tenant)).done?.finish_reason;
  await expect.poll(finishReason, { timeout: REPAIR_TIMEOUT_MS }).toBe("stop");
  await expect.poll(countRows, { timeout: REPAIR_TIMEOUT_MS }).toEqual({ rows: 4, turns: 4, sameTokens: 4 });
  await expectConsistentTurns(4);
}, 60_000);

test("parley usage-audit --repair repairs differences and prints each repair; usage-audit refuses an invalid --since, and --since without --repair", async () => {
  await system.conversation.stop();
  await system.conversation.start({ RECONCILE_EVERY_SECONDS: "3600" });
  // Waits until the edge has connected again.
  await expect.poll(async () => (await postChat(system.url(), tenant)).status, { timeout: 20_000 }).toBe(200);
  await createTenantWithTurns(1);
  const restore = await backUp("quota");
  await completeTurns(1);
  await restore();
  const heldTurnId = await holdUnknownTurn("11 minutes");
  expect(await auditExitCode()).toBe(1);
  const env = cliEnv(system);
  const workspace = ["--workspace", tenant.workspaceId];
  const repaired: Record<string, string>[] = [];
  const repair = async () => {
    const args = ["usage-audit", "--repair", ...workspace, "--since", new Date(Date.now() - 60_000).toISOString()];
    repaired.push(...(await runCliJson<{ repairs: Record<string, string>[] }>(args, env)).repairs);
    return repaired.length;
  };
  // The repair compares only turns that were closed at least a second ago.
  await expect.poll(repair, { timeout: REPAIR_TIMEOUT_MS }).toBe(2);
  expect(repaired).toEqual(
    expect.arrayContaining([
      { workspace_id: tenant.workspaceId, turn_id: heldTurnId, kind: "held_without_turn", action: "void" },
      { workspace_id: tenant.workspaceId, turn_id: expect.any(String), kind: "reply_not_counted", action: "settle" },
    ]),
  );
  await expectConsistentTurns(2);
  const { code, stdout } = await runCliInProcess(["usage-audit", "--repair", ...workspace], env);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^0 differences repaired among [1-9]\d* turns and holds\.\n$/);
  expect((await runCliInProcess(["usage-audit", "--repair", "--since", "yesterday"], env)).code).toBe(2);
  expect((await runCliInProcess(["usage-audit", "--since", "2026-11-22"], env)).code).toBe(2);
}, 60_000);
