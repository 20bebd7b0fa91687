import { create } from "@bufbuild/protobuf";
import { ListRetentionsResponseSchema } from "@parley/rpc/quota";
import { createLogger } from "@parley/service-kit";
import { recordStatements } from "@parley/service-kit/testing";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { renewEdge } from "../sweeping/edge-leases.store.ts";
import { countLockWaits } from "../testing/database.ts";
import { useTestSystem } from "../testing/system.ts";
import { createBot, edgeFields, newClosing, newTurn, runTurn } from "../testing/turns.ts";
import { closeTurn } from "../turns/close-turn.store.ts";
import { openTurn } from "../turns/open-turn.store.ts";
import { A_DAY_OR_LONGER, eraseExpiredSessions, type RetentionDeps, SHORTER_THAN_A_DAY } from "./retention.worker.ts";

const DAY = 24 * 60;

const system = useTestSystem();
const failures = { inc: vi.fn() };
/** The workspaces' retentions in minutes, in the order in which quota lists them. */
const retentions = new Map<string, number>();
beforeEach(() => {
  failures.inc.mockClear();
  retentions.clear();
});

/** Stands in for quota, and returns one workspace per page. */
const listRetentions: RetentionDeps["quota"]["listRetentions"] = async ({
  minMinutes = 0,
  maxMinutes = 0,
  pageToken,
}) => {
  const workspaces = [...retentions]
    .map(([workspaceId, retentionMinutes]) => ({ workspaceId, retentionMinutes }))
    .filter(({ retentionMinutes: minutes }) => minutes >= minMinutes && (maxMinutes === 0 || minutes <= maxMinutes));
  const at = Number(pageToken);
  const nextPageToken = at + 1 < workspaces.length ? String(at + 1) : "";
  return create(ListRetentionsResponseSchema, { workspaces: workspaces.slice(at, at + 1), nextPageToken });
};

type Options = Partial<RetentionDeps> & { range?: typeof A_DAY_OR_LONGER; signal?: AbortSignal };

function eraseExpired({ range = SHORTER_THAN_A_DAY, signal = new AbortController().signal, ...deps }: Options = {}) {
  const log = createLogger("test", "silent");
  const fakes = { quota: { listRetentions }, notifySettler: () => undefined, failures, log };
  return eraseExpiredSessions({ database: system.database, ...fakes, ...deps }, range, signal);
}

/** Moves a session's activity and the end of its replies back. */
async function age({ sessionId }: { sessionId: string }, minutes: number) {
  await system.admin.query(
    `WITH replies AS (
       UPDATE conversation.messages SET closed_at = now() - make_interval(mins => $2) WHERE session_id = $1 AND closed_at IS NOT NULL
     )
     UPDATE conversation.sessions SET last_activity_at = now() - make_interval(mins => $2) WHERE session_id = $1`,
    [sessionId, minutes],
  );
}

async function createInactiveSession(minutes: number, bot: Bot) {
  const turn = newTurn(bot);
  await runTurn(system.database, turn);
  await age(turn, minutes);
  return turn;
}

const countMessages = async (turn: { sessionId: string }) =>
  (await system.admin.query("SELECT FROM conversation.messages WHERE session_id = $1", [turn.sessionId])).rowCount;

test.each([
  ["minutes", 30, [31, 29], SHORTER_THAN_A_DAY],
  ["days", 30 * DAY, [31 * DAY, 29 * DAY], A_DAY_OR_LONGER],
] as const)(
  "eraseExpiredSessions erases sessions inactive for longer than their workspace's retention of %s, and keeps the rows of their turns",
  async (_, retention, [longer, shorter], range) => {
    const [strict, unlimited] = [await createBot(system.database), await createBot(system.database)];
    retentions.set(strict.workspaceId, retention);
    const old = await createInactiveSession(longer, strict);
    const young = await createInactiveSession(shorter, strict);
    const kept = await createInactiveSession(400 * DAY, unlimited);
    const otherRange = range === A_DAY_OR_LONGER ? SHORTER_THAN_A_DAY : A_DAY_OR_LONGER;
    expect(await eraseExpired({ range: otherRange })).toBe(0);
    expect(await eraseExpired({ range })).toBe(1);
    expect(await countMessages(old)).toBe(0);
    expect([await countMessages(young), await countMessages(kept)]).toEqual([2, 2]);
    const { rows } = await system.admin.query("SELECT status FROM conversation.turns WHERE turn_id = $1", [old.turnId]);
    expect(rows).toEqual([{ status: "done" }]);
    expect(await eraseExpired({ range })).toBe(0);
  },
);

test("eraseExpiredSessions keeps a session while a reply is running, and then for the retention after the reply's end", async () => {
  const bot = await createBot(system.database);
  retentions.set(bot.workspaceId, 30);
  const running = newTurn(bot);
  await openTurn(system.database, running);
  // The sweep closes turns of an edge without a lease.
  await renewEdge(system.database, edgeFields(running.edgeId), 60);
  await age(running, 31);
  const expired = await createInactiveSession(31, bot);
  expect(await eraseExpired()).toBe(1);
  expect([await countMessages(running), await countMessages(expired)]).toEqual([2, 0]);
  expect(await closeTurn(system.database, newClosing(running))).toMatchObject({ outcome: "done" });
  expect(await eraseExpired()).toBe(0);
  await age(running, 31);
  expect(await eraseExpired()).toBe(1);
});

test("eraseExpiredSessions erases one batch of each workspace in turn", async () => {
  const [large, small] = [await createBot(system.database), await createBot(system.database)];
  for (const { workspaceId } of [large, small]) retentions.set(workspaceId, 30);
  for (let i = 0; i < 55; i++) await createInactiveSession(40, large);
  await createInactiveSession(31, small);
  const statements = await recordStatements(system.database, async (database) => {
    expect(await eraseExpired({ database })).toBe(56);
  });
  const deletions = statements.filter(({ text }) => text.includes("DELETE FROM conversation.messages"));
  expect(deletions.findIndex(({ values }) => values[0] === small.workspaceId)).toBe(50);
});

test("eraseExpiredSessions lists the workspaces again in a run of more than a minute", async () => {
  const [large, late] = [await createBot(system.database), await createBot(system.database)];
  retentions.set(large.workspaceId, 30);
  for (let i = 0; i < 55; i++) await createInactiveSession(40, large);
  await createInactiveSession(31, late);
  const now = performance.now.bind(performance);
  let skippedMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + skippedMs);
  onTestFinished(() => clock.mockRestore());
  const notifySettler = () => {
    skippedMs = 60_000;
    // The large workspace now keeps its sessions without limit.
    retentions.delete(large.workspaceId);
    retentions.set(late.workspaceId, 30);
  };
  expect(await eraseExpired({ notifySettler })).toBe(51);
});

test("eraseExpiredSessions counts a failure and throws if quota does not list the retentions", async () => {
  const quota = { listRetentions: () => Promise.reject(new Error("unavailable")) };
  await expect(eraseExpired({ quota })).rejects.toThrow("unavailable");
  expect(failures.inc).toHaveBeenCalledOnce();
});

test("eraseExpiredSessions erases several batches in one run, each session once, with a pause after fifty sessions", async () => {
  const bot = await createBot(system.database);
  retentions.set(bot.workspaceId, 30);
  for (let i = 0; i < 60; i++) await createInactiveSession(31, bot);
  const startedAt = performance.now();
  const statements = await recordStatements(system.database, async (database) => {
    expect(await eraseExpired({ database })).toBe(60);
  });
  // The pause is 100 ms, but a timer may fire a moment early.
  expect(performance.now() - startedAt).toBeGreaterThan(99);
  const lists = statements.filter(
    ({ text, values }) => text.includes("ORDER BY last_activity_at") && values[0] === bot.workspaceId,
  );
  // The values are the retention in minutes and the maximum number of sessions.
  expect(lists.map(({ values }) => values.slice(1, 3))).toEqual([
    [30, 50],
    [30, 50],
  ]);
  const deletions = statements.filter(({ text }) => text.includes("DELETE FROM conversation.messages"));
  expect(new Set(deletions.map(({ values }) => values[1])).size).toBe(60);
  expect(deletions).toHaveLength(60);
});

test("eraseExpiredSessions erases nothing if the signal is already aborted, and the next run erases the expired sessions", async () => {
  const bot = await createBot(system.database);
  retentions.set(bot.workspaceId, 30);
  for (let i = 0; i < 3; i++) await createInactiveSession(31, bot);
  expect(await eraseExpired({ signal: AbortSignal.abort() })).toBe(0);
  expect(await eraseExpired()).toBe(3);
});

test("eraseExpiredSessions erases no further session after the signal is aborted", async () => {
  const bot = await createBot(system.database);
  retentions.set(bot.workspaceId, 30);
  for (let i = 0; i < 3; i++) await createInactiveSession(31, bot);
  const stopping = new AbortController();
  // The callback is notifySettler, which runs after each erasure.
  expect(await eraseExpired({ signal: stopping.signal, notifySettler: () => stopping.abort() })).toBe(1);
  expect(await eraseExpired()).toBe(2);
});

test("eraseExpiredSessions keeps a session that becomes active between the listing and its erasure", async () => {
  const bot = await createBot(system.database);
  retentions.set(bot.workspaceId, 30);
  const session = await createInactiveSession(31, bot);
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
  retentions.set(bot.workspaceId, 30);
  const broken = await createInactiveSession(32, bot);
  const good = await createInactiveSession(31, bot);
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

test("eraseExpiredSessions logs and counts a workspace whose sessions cannot be listed, and erases the sessions of the other workspaces", async () => {
  const bot = await createBot(system.database);
  // PostgreSQL refuses NUL in a text.
  retentions.set("a\0b", 30);
  retentions.set(bot.workspaceId, 30);
  await createInactiveSession(31, bot);
  const log = createLogger("test", "silent");
  const warn = vi.spyOn(log, "warn");
  expect(await eraseExpired({ log })).toBe(1);
  expect(failures.inc).toHaveBeenCalledOnce();
  expect(warn.mock.calls).toEqual([[{ workspace_id: "a\0b", error: expect.any(Error) }, "workspace retention failed"]]);
});
