import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat, postChat } from "../system/chat.ts";
import { cliEnv, runCliInProcess, runCliJson } from "../system/cli.ts";
import { copyTables, queryFirstRow, readBalance } from "../system/database.ts";
import { readMetric } from "../system/metrics.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { TRUST_FORWARDED_FOR, visit } from "../system/visitors.ts";

/** Reconciles every second, and includes turns that were closed at least a second ago. */
const QUICK_RECONCILIATION = { RECONCILE_EVERY_SECONDS: "1", RECONCILE_MIN_AGE_SECONDS: "1" };
const REPAIR_TIMEOUT_MS = 20_000;
const MIN_TURNS = 20;

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  system = await startSystem({
    env: {
      edge: TRUST_FORWARDED_FOR,
      conversation: { LOG_LEVEL: "error", EDGE_LEASE_SECONDS: "3", ...QUICK_RECONCILIATION },
    },
  });
});
afterAll(() => system?.stop());

/** Creates the test's tenant and completes some of its turns. */
async function startTenant(turns: number): Promise<void> {
  tenant = await createTenant(system.admin);
  await completeTurns(turns);
}

async function completeTurns(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++)
    expect((await chat(system.url(), tenant)).done).toMatchObject({ finish_reason: "stop" });
  await expectBalance({ held: 0, outbox: 0 });
}

const readTenantBalance = () => readBalance(system.database, tenant.workspaceId);

function expectBalance(expected: object): Promise<void> {
  return expect.poll(readTenantBalance, { timeout: REPAIR_TIMEOUT_MS }).toMatchObject(expected);
}

const auditCode = async () =>
  (await runCliInProcess(["audit", "--check", "--workspace", tenant.workspaceId], cliEnv(system))).code;

/** Waits until turns and usage agree on the number of done turns. */
async function expectNoDifferences(done: number): Promise<void> {
  await expectBalance({ done, used: done, ledger: done, held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
  expect(await auditCode()).toBe(0);
}

const TABLES = {
  conversation: ["sessions", "messages", "turns", "outbox"],
  quota: ["usage", "reservations", "ledger", "adjustments"],
};

/** Copies the tenant's rows of a schema. Returns a function that restores them, and runs further SQL in the same transaction. */
async function backUp(schema: keyof typeof TABLES): Promise<(sql?: string) => Promise<unknown>> {
  const ofTenant = `workspace_id = '${tenant.workspaceId}'`;
  const { restoreSql } = await copyTables(system.database, schema, TABLES[schema], ofTenant);
  return (sql = "") => queryFirstRow(system.database, `BEGIN; ${restoreSql} ${sql} COMMIT`);
}

const repairs = (kind?: string) =>
  readMetric(system.conversation, "parley_reconciliation_repairs_total", kind ? { kind } : {});

test("the reconciler counts the lost replies again after a restore of quota to 5 turns earlier", async () => {
  await startTenant(2);
  const restore = await backUp("quota");
  await completeTurns(5);
  await restore();
  await expectNoDifferences(7);
  expect(await repairs("reply_not_counted")).toBe(5);
}, 60_000);

test("the reconciler subtracts the lost replies after a restore of conversation to 5 turns earlier", async () => {
  await startTenant(2);
  const restoreOld = await backUp("conversation");
  await completeTurns(5);
  const restoreNew = await backUp("conversation");
  await restoreOld();
  await expectNoDifferences(2);
  const { entries } = await queryFirstRow<{ entries: number }>(
    system.database,
    `SELECT count(*)::integer AS entries FROM quota.adjustments
     WHERE workspace_id = $1 AND amount = -1 AND reason = 'reconciled'`,
    [tenant.workspaceId],
  );
  expect(entries).toBe(5);
  // A later restore brings the replies back.
  await restoreNew();
  await expectNoDifferences(7);
}, 60_000);

test("the reconciler settles the hold of a closed turn whose settlement was lost after its outbox row was deleted", async () => {
  await startTenant(1);
  // The reply takes 4 s, in which the backup is made.
  system.provider.script([{ everyMs: 400 }]);
  const streaming = chat(system.url(), tenant);
  await expectBalance({ held: 1 });
  const restore = await backUp("quota");
  await streaming;
  await expectBalance({ used: 2, held: 0, outbox: 0 });
  // A run compares the holds first, then the turns that were closed at least 1 s ago. With the close set to now, a run that
  // has already compared the holds does not find the turn.
  await restore(`UPDATE conversation.turns SET closed_at = now() WHERE workspace_id = '${tenant.workspaceId}';`);
  await expectNoDifferences(2);
  expect(await repairs("hold_not_settled")).toBe(1);
}, 60_000);

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
  await startTenant(1);
  await holdUnknownTurn("9 minutes");
  await holdUnknownTurn("11 minutes");
  await expectBalance({ done: 1, used: 1, held: 1 });
  await queryFirstRow(
    system.database,
    "UPDATE quota.reservations SET reserved_at = now() - interval '11 minutes' WHERE workspace_id = $1 AND state = 'held'",
    [tenant.workspaceId],
  );
  await expectNoDifferences(1);
  // The service counts a repair only after the quota service has responded.
  await expect.poll(() => repairs("held_without_turn"), { timeout: REPAIR_TIMEOUT_MS }).toBe(2);
}, 60_000);

test("the reconciler repairs nothing while turns run without a fault", async () => {
  await startTenant(1);
  const before = await repairs();
  let turns = 1;
  const startedAt = performance.now();
  // Lasts 5 s, or longer until a busy machine has completed enough turns.
  const isOver = () => performance.now() - startedAt > (turns > MIN_TURNS ? 5_000 : 30_000);
  const sendMessages = async () => {
    while (!isOver()) if ((await visit(system.url(), tenant)).kind === "stream") turns++;
  };
  await Promise.all(Array.from({ length: 4 }, sendMessages));
  expect(turns).toBeGreaterThan(MIN_TURNS);
  await expectNoDifferences(turns);
  expect(await repairs()).toBe(before);
  const readGauge = (name: string) => readMetric(system.conversation, `parley_reconciliation_${name}`);
  // A gauge is NaN if the database does not answer within 500 ms.
  await expect
    .poll(async () => Date.now() / 1_000 - (await readGauge("last_success_timestamp_seconds")), {
      timeout: REPAIR_TIMEOUT_MS,
    })
    .toBeLessThan(30);
  await expect.poll(() => readGauge("lag_seconds"), { timeout: REPAIR_TIMEOUT_MS }).toBeLessThan(60);
}, 60_000);

test("the reconciler adds the call log's rows that llm-proxy lost with its process or its database", async () => {
  await startTenant(3);
  const ofTenant = [tenant.workspaceId];
  await system.llm.kill9();
  await queryFirstRow(system.database, "DELETE FROM llm.calls WHERE workspace_id = $1", ofTenant);
  await system.llm.start();
  const countRows = () =>
    queryFirstRow<{ rows: number; turns: number; tokens: number }>(
      system.database,
      `SELECT count(*)::integer AS rows, count(DISTINCT c.turn_id)::integer AS turns,
              count(*) FILTER (WHERE c.tokens_in = t.tokens_in AND c.tokens_out = t.tokens_out)::integer AS tokens
       FROM llm.calls c JOIN conversation.turns t USING (workspace_id, turn_id) WHERE workspace_id = $1 AND t.status = 'done'`,
      ofTenant,
    );
  await expect.poll(countRows, { timeout: REPAIR_TIMEOUT_MS }).toEqual({ rows: 3, turns: 3, tokens: 3 });
  // The edge may still be connecting to the llm-proxy.
  const finishReason = async () => (await chat(system.url(), tenant)).done?.finish_reason;
  await expect.poll(finishReason, { timeout: REPAIR_TIMEOUT_MS }).toBe("stop");
  await expect.poll(countRows, { timeout: REPAIR_TIMEOUT_MS }).toEqual({ rows: 4, turns: 4, tokens: 4 });
  await expectNoDifferences(4);
}, 60_000);

test("parley audit --repair repairs differences on demand and prints each repair", async () => {
  await system.conversation.stop();
  await system.conversation.start({ RECONCILE_EVERY_SECONDS: "3600" });
  // Waits until the edge has connected again.
  await expect.poll(async () => (await postChat(system.url(), tenant)).status, { timeout: 20_000 }).toBe(200);
  await startTenant(1);
  const restore = await backUp("quota");
  await completeTurns(1);
  await restore();
  const held = await holdUnknownTurn("11 minutes");
  expect(await auditCode()).toBe(1);
  const env = cliEnv(system);
  const workspace = ["--workspace", tenant.workspaceId];
  const repaired: Record<string, string>[] = [];
  const repair = async () => {
    const args = ["audit", "--repair", ...workspace, "--since", new Date(Date.now() - 60_000).toISOString()];
    repaired.push(...(await runCliJson<{ repairs: Record<string, string>[] }>(args, env)).repairs);
    return repaired.length;
  };
  // The repair compares only turns that were closed at least a second ago.
  await expect.poll(repair, { timeout: REPAIR_TIMEOUT_MS }).toBe(2);
  expect(repaired).toEqual(
    expect.arrayContaining([
      { workspace_id: tenant.workspaceId, turn_id: held, kind: "held_without_turn", action: "void" },
      { workspace_id: tenant.workspaceId, turn_id: expect.any(String), kind: "reply_not_counted", action: "settle" },
    ]),
  );
  await expectNoDifferences(2);
  const { code, stdout } = await runCliInProcess(["audit", "--repair", ...workspace], env);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^0 differences repaired among [1-9]\d* turns and holds\.\n$/);
  expect((await runCliInProcess(["audit", "--repair", "--since", "yesterday"], env)).code).toBe(2);
  expect((await runCliInProcess(["audit", "--since", "2026-11-22"], env)).code).toBe(2);
}, 60_000);
