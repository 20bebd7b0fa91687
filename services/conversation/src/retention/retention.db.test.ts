import { create } from "@bufbuild/protobuf";
import { GetWorkspaceResponseSchema } from "@parley/rpc/quota";
import { createLogger } from "@parley/service-kit";
import { recordStatements } from "@parley/service-kit/testing";
import { beforeEach, expect, test, vi } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { countLockWaits } from "../testing/database.ts";
import { useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { storeDeletion } from "../workspace-deletions/deletions.store.ts";
import { eraseExpiredSessions, type RetentionDeps } from "./retention.worker.ts";

const system = useTestSystem();
const failures = { inc: vi.fn() };
/** The workspaces that quota does not return, because they are deleted. */
const deletedIds = new Set<string>();
/** The workspaces for which getWorkspace fails although they are not deleted. */
const unreadableIds = new Set<string>();
beforeEach(() => failures.inc.mockClear());

function eraseExpired(
  signal = new AbortController().signal,
  database = system.database,
  notifySettler: RetentionDeps["notifySettler"] = () => undefined,
  log = createLogger("test", "silent"),
) {
  const { quota } = system;
  return eraseExpiredSessions(
    {
      database,
      quota: {
        async getWorkspace({ workspaceId = "" }) {
          if (unreadableIds.has(workspaceId)) throw new Error("unavailable");
          if (deletedIds.has(workspaceId)) throw new Error("no such workspace");
          const retentionDays = quota.retentionDays.get(workspaceId) ?? 0;
          return create(GetWorkspaceResponseSchema, { workspace: { retentionDays } });
        },
      },
      notifySettler,
      failures,
      log,
    },
    signal,
  );
}

async function createInactiveSession(days: number, bot: Bot) {
  const turn = newTurn(bot);
  await runTurn(system.database, turn);
  await system.admin.query(
    "UPDATE conversation.sessions SET last_activity_at = now() - make_interval(days => $2) WHERE session_id = $1",
    [turn.sessionId, days],
  );
  return turn;
}

const countMessages = async (turn: { sessionId: string }) =>
  (await system.admin.query("SELECT FROM conversation.messages WHERE session_id = $1", [turn.sessionId])).rowCount;

test("eraseExpiredSessions erases sessions inactive for longer than their workspace's retention, and keeps the rows of their turns", async () => {
  const [strict, unlimited] = [await createBot(system.database), await createBot(system.database)];
  system.quota.retentionDays.set(strict.workspaceId, 30);
  const old = await createInactiveSession(31, strict);
  const young = await createInactiveSession(29, strict);
  const kept = await createInactiveSession(400, unlimited);
  expect(await eraseExpired()).toBe(1);
  expect(await countMessages(old)).toBe(0);
  expect([await countMessages(young), await countMessages(kept)]).toEqual([2, 2]);
  const { rows } = await system.admin.query("SELECT status FROM conversation.turns WHERE turn_id = $1", [old.turnId]);
  expect(rows).toEqual([{ status: "done" }]);
  expect(await eraseExpired()).toBe(0);
});

test("eraseExpiredSessions erases several batches in one run, each session once, with a pause after fifty sessions", async () => {
  const bot = await createBot(system.database);
  system.quota.retentionDays.set(bot.workspaceId, 1);
  for (let i = 0; i < 60; i++) await createInactiveSession(2, bot);
  const startedAt = performance.now();
  const statements = await recordStatements(system.database, async (database) => {
    expect(await eraseExpired(undefined, database)).toBe(60);
  });
  // The pause is 100 ms, but a timer may fire a moment early.
  expect(performance.now() - startedAt).toBeGreaterThan(99);
  const lists = statements.filter(
    ({ text, values }) => text.includes("ORDER BY last_activity_at") && values[0] === bot.workspaceId,
  );
  // The values are the days of inactivity and the maximum number of sessions.
  expect(lists.map(({ values }) => values.slice(1, 3))).toEqual([
    [1, 50],
    [1, 50],
  ]);
  const deletions = statements.filter(({ text }) => text.includes("DELETE FROM conversation.messages"));
  expect(new Set(deletions.map(({ values }) => values[1])).size).toBe(60);
  expect(deletions).toHaveLength(60);
});

test("eraseExpiredSessions erases nothing if the signal is already aborted, and the next run erases the expired sessions", async () => {
  const bot = await createBot(system.database);
  system.quota.retentionDays.set(bot.workspaceId, 1);
  for (let i = 0; i < 3; i++) await createInactiveSession(2, bot);
  expect(await eraseExpired(AbortSignal.abort())).toBe(0);
  expect(await eraseExpired()).toBe(3);
});

test("eraseExpiredSessions erases no further session after the signal is aborted", async () => {
  const bot = await createBot(system.database);
  system.quota.retentionDays.set(bot.workspaceId, 1);
  for (let i = 0; i < 3; i++) await createInactiveSession(2, bot);
  const stopping = new AbortController();
  // The callback is notifySettler, which runs after each erasure.
  expect(await eraseExpired(stopping.signal, system.database, () => stopping.abort())).toBe(1);
  expect(await eraseExpired()).toBe(2);
});

test("eraseExpiredSessions keeps a session that becomes active between the listing and its erasure", async () => {
  const bot = await createBot(system.database);
  system.quota.retentionDays.set(bot.workspaceId, 1);
  const session = await createInactiveSession(2, bot);
  const connection = await system.admin.connect();
  await connection.query("BEGIN");
  // The uncommitted update locks the row, as OpenTurn does. eraseExpiredSessions lists the session as inactive, and then waits for the lock.
  await connection.query("UPDATE conversation.sessions SET last_activity_at = now() WHERE session_id = $1", [
    session.sessionId,
  ]);
  const erasing = eraseExpired();
  await expect.poll(() => countLockWaits(system.admin), { timeout: 10_000 }).toBe(1);
  await connection.query("COMMIT");
  connection.release();
  expect(await erasing).toBe(0);
  expect(await countMessages(session)).toBe(2);
});

test("eraseExpiredSessions skips and counts sessions that cannot be erased, and erases the others", async () => {
  const bot = await createBot(system.database);
  system.quota.retentionDays.set(bot.workspaceId, 1);
  const broken = await createInactiveSession(3, bot);
  const good = await createInactiveSession(2, bot);
  await system.admin.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
    CREATE TRIGGER refuse BEFORE DELETE ON conversation.messages FOR EACH ROW
      WHEN (OLD.session_id = '${broken.sessionId}') EXECUTE FUNCTION refuse()`);
  expect(await eraseExpired()).toBe(1);
  expect(failures.inc).toHaveBeenCalledOnce();
  expect([await countMessages(broken), await countMessages(good)]).toEqual([2, 0]);
  await system.admin.query("DROP TRIGGER refuse ON conversation.messages");
  expect(await eraseExpired()).toBe(1);
});

test("eraseExpiredSessions logs and counts a workspace if quota does not return its retention, and erases the sessions of the other workspaces", async () => {
  const [unreadable, readable] = [await createBot(system.database), await createBot(system.database)];
  for (const bot of [unreadable, readable]) {
    system.quota.retentionDays.set(bot.workspaceId, 30);
    await createInactiveSession(31, bot);
  }
  unreadableIds.add(unreadable.workspaceId);
  const log = createLogger("test", "silent");
  const warn = vi.spyOn(log, "warn");
  expect(await eraseExpired(undefined, undefined, undefined, log)).toBe(1);
  expect(failures.inc).toHaveBeenCalledOnce();
  const fields = { workspace_id: unreadable.workspaceId, error: expect.objectContaining({ message: "unavailable" }) };
  expect(warn.mock.calls).toEqual([[fields, "workspace retention failed"]]);
  unreadableIds.clear();
  expect(await eraseExpired()).toBe(1);
});

test("eraseExpiredSessions skips deleted workspaces, which are erased as a whole", async () => {
  const bot = await createBot(system.database);
  system.quota.retentionDays.set(bot.workspaceId, 30);
  await createInactiveSession(31, bot);
  deletedIds.add(bot.workspaceId);
  await storeDeletion(system.database, bot.workspaceId);
  expect(await eraseExpired()).toBe(0);
  expect(failures.inc).not.toHaveBeenCalled();
});
