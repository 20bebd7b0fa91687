import { setTimeout as sleep } from "node:timers/promises";
import { isFullRun } from "@parley/test-support";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { chat } from "../system/chat.ts";
import { databaseOf, databasesOf, queryFirstRow, readBalance } from "../system/database.ts";
import { readMetric } from "../system/metrics.ts";
import { createTenant, type System, startSystem } from "../system/system.ts";

const REPLY_TIMEOUT_MS = 20_000;
/** Longer than the quota service's lock_timeout of 2 s, and much shorter than Reserve's deadline of 10 s. */
const USAGE_LOCKED_MS = 4_000;

/** Sends a message. Locks the turn's row until `lockedMs` after the provider's last token, so that every CloseTurn waits for the lock. */
async function chatWithLockedTurn(system: System, lockedMs: number, settleTimeoutMs = 15_000) {
  const { admin, database, provider } = system;
  // The reply takes 3 s, which is enough time to lock the turn before the first CloseTurn.
  const tenant = await createTenant(admin, { model: "openai:tokens-5-every-600" });
  const pendingChat = chat(system.url(), tenant, { message: tenant.workspaceId });
  await vi.waitFor(
    async () => expect(await readBalance(database, tenant.workspaceId)).toMatchObject({ streaming: 1 }),
    REPLY_TIMEOUT_MS,
  );
  const locker = new pg.Client({ connectionString: databaseOf(system, tenant.workspaceId).url });
  await locker.connect();
  await locker.query("BEGIN");
  await locker.query("SELECT FROM conversation.turns WHERE workspace_id = $1 FOR UPDATE", [tenant.workspaceId]);
  const request = () => provider.requests.find(({ body }) => JSON.stringify(body).includes(tenant.workspaceId));
  await vi.waitFor(() => expect(request()?.endedAt).toBeDefined(), REPLY_TIMEOUT_MS);
  await sleep(lockedMs);
  await locker.query("ROLLBACK");
  await locker.end();
  const { done } = await pendingChat;
  const settled = { held: 0, streaming: 0, outbox: 0, unbalanced: 0 };
  await vi.waitFor(
    async () => expect(await readBalance(database, tenant.workspaceId)).toMatchObject(settled),
    settleTimeoutMs,
  );
  const { status } = await queryFirstRow<{ status: string }>(
    database,
    "SELECT status FROM conversation.turns WHERE workspace_id = $1",
    [tenant.workspaceId],
  );
  const { used } = await readBalance(database, tenant.workspaceId);
  return { finishReason: done?.finish_reason, status, used };
}

async function countDoneAfterError(system: System): Promise<number | undefined> {
  const [edge] = system.edges;
  return edge && readMetric(edge, "parley_turns_done_after_error_total");
}

// The tests of a locked turn mostly wait, so they run concurrently. The test with the longer statement timeout has its own system.
let system: System;
let slowSystem: System;
beforeAll(async () => {
  [system, slowSystem] = await Promise.all([
    startSystem(),
    startSystem({
      async prepareDatabase(database) {
        for (const each of databasesOf(database))
          await queryFirstRow(
            each,
            `ALTER ROLE parley_conversation IN DATABASE "${new URL(each.url).pathname.slice(1)}" SET statement_timeout = '60s'`,
          );
      },
    }),
  ]);
});
afterAll(() => Promise.all([system?.stop(), slowSystem?.stop()]));

describe.concurrent("a reply whose turn is locked", () => {
  // The edge starts its last CloseTurn(done) up to 4 s after the reply. The statement timeout of 10 s then ends that call up to 14 s after the reply.
  test.each([
    ["done and counted if the lock ends before the statement timeout", 10_500, "stop", "done", 1],
    ["an error and not counted if the lock ends after the statement timeout", 17_000, "error", "error", 0],
  ])("is %s", async (_, lockedMs, finishReason, status, used) => {
    expect(await chatWithLockedTurn(system, lockedMs)).toEqual({ finishReason, status, used });
    expect(await countDoneAfterError(system)).toBe(0);
  });
});

describe.concurrent("with a statement timeout longer than the edge assumes", () => {
  test.runIf(isFullRun)(
    "a metric counts each turn that is stored as done after its visitor was sent an error",
    async () => {
      // The turn's outbox row has the time at which its CloseTurn began, up to 18 s before the commit. The settler reads only
      // rows of the last 15 s, except once a minute: then it reads the whole outbox and finds this row.
      const result = await chatWithLockedTurn(slowSystem, 18_000, 80_000);
      expect(result).toEqual({ finishReason: "error", status: "done", used: 1 });
      await vi.waitFor(async () => expect(await countDoneAfterError(slowSystem)).toBe(1), 10_000);
    },
    120_000,
  );
});

test("a workspace whose usage is locked does not delay another workspace, and gets its replies when the lock ends", async () => {
  const locked = await createTenant(system.admin);
  const other = await createTenant(system.admin);
  for (const tenant of [locked, other]) expect((await chat(system.url(), tenant)).done?.finish_reason).toBe("stop");
  const measureReplies = async () => {
    const startedAt = performance.now();
    for (let i = 0; i < 10; i++) expect((await chat(system.url(), other)).done?.finish_reason).toBe("stop");
    return performance.now() - startedAt;
  };
  const unlockedMs = await measureReplies();
  const locker = new pg.Client({ connectionString: databaseOf(system, locked.workspaceId).url });
  await locker.connect();
  await locker.query("BEGIN");
  await locker.query("SELECT FROM quota.usage WHERE workspace_id = $1 FOR UPDATE", [locked.workspaceId]);
  // More calls than the quota service has database connections.
  const pending = Array.from({ length: 20 }, () => chat(system.url(), locked));
  const lockEnd = sleep(USAGE_LOCKED_MS);
  await sleep(1_000);
  expect((await measureReplies()) - unlockedMs).toBeLessThan(3_000);
  await lockEnd;
  await locker.query("ROLLBACK");
  await locker.end();
  const replies = await Promise.all(pending);
  expect(replies.map(({ done }) => done?.finish_reason)).toEqual(Array(20).fill("stop"));
  await expect
    .poll(() => readBalance(system.database, locked.workspaceId), { timeout: 15_000 })
    .toMatchObject({ used: 21, held: 0, outbox: 0, unbalanced: 0 });
});

/** Copies the workspace's done turn, and puts the copies into the outbox as if they had been closed `ageSeconds` ago. */
async function addUnsettledTurns(workspaceId: string, turns: number, ageSeconds: number): Promise<void> {
  await queryFirstRow(
    system.database,
    `WITH copies AS (
       INSERT INTO conversation.turns
       SELECT (jsonb_populate_record(t, jsonb_build_object('turn_id', gen_random_uuid(), 'message_id', t.message_id + 2 * n))).*
       FROM conversation.turns t, generate_series(1, $2::integer) n WHERE t.workspace_id = $1
       RETURNING workspace_id, turn_id, month
     )
     INSERT INTO conversation.outbox (workspace_id, turn_id, outcome, month, created_at)
     SELECT workspace_id, turn_id, 'done', month, now() - make_interval(secs => $3) FROM copies`,
    [workspaceId, turns, ageSeconds],
  );
}

test("a workspace whose usage is locked and whose unsettled turns fill a batch does not delay another workspace's settlement", async () => {
  const locked = await createTenant(system.admin);
  const other = await createTenant(system.admin);
  const readLocked = () => readBalance(system.database, locked.workspaceId);
  const readOther = () => readBalance(system.database, other.workspaceId);
  for (const tenant of [locked, other]) expect((await chat(system.url(), tenant)).done?.finish_reason).toBe("stop");
  for (const read of [readLocked, readOther])
    await expect.poll(read, { timeout: 10_000 }).toMatchObject({ used: 1, held: 0, outbox: 0 });
  const locker = new pg.Client({ connectionString: databaseOf(system, locked.workspaceId).url });
  await locker.connect();
  await locker.query("BEGIN");
  await locker.query("SELECT FROM quota.usage WHERE workspace_id = $1 FOR UPDATE", [locked.workspaceId]);
  // A batch has 500 turns. The other workspace's turn is in the second batch, behind 100 turns of the locked workspace.
  await addUnsettledTurns(locked.workspaceId, 600, 10);
  await addUnsettledTurns(other.workspaceId, 1, 5);
  await expect.poll(readOther, { timeout: 40_000 }).toMatchObject({ done: 2, used: 2, outbox: 0, unbalanced: 0 });
  expect(await readLocked()).toMatchObject({ used: 1, outbox: 600 });
  await locker.query("ROLLBACK");
  await locker.end();
  const settled = { done: 601, used: 601, held: 0, outbox: 0, unbalanced: 0 };
  await expect.poll(readLocked, { timeout: 40_000 }).toMatchObject(settled);
}, 120_000);

test("a reply whose text the database refuses is stored as done without the text, and counted", async () => {
  const tenant = await createTenant(system.admin);
  await queryFirstRow(
    databaseOf(system, tenant.workspaceId),
    `CREATE FUNCTION refuse_text() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = 'data_corrupted'; END $$;
     CREATE TRIGGER refuse_text BEFORE UPDATE ON conversation.messages FOR EACH ROW
       WHEN (NEW.content <> '' AND NEW.workspace_id = '${tenant.workspaceId}') EXECUTE FUNCTION refuse_text()`,
  );
  const { done } = await chat(system.url(), tenant);
  expect(done?.finish_reason).toBe("stop");
  const settled = { done: 1, used: 1, held: 0, streaming: 0, outbox: 0, unbalanced: 0 };
  await expect.poll(() => readBalance(system.database, tenant.workspaceId), { timeout: 10_000 }).toMatchObject(settled);
});
