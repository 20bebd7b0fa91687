import { Code } from "@connectrpc/connect";
import { TurnAdminService } from "@parley/rpc/conversation";
import type { Database } from "@parley/service-kit";
import { beforeAll, beforeEach, expect, test, vi } from "vitest";
import { rateMessage } from "../sessions/messages.store.ts";
import { insertSessions } from "../testing/sessions.ts";
import { adminFailure, useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { openTurn } from "../turns/open-turn.store.ts";
import { createReplyCountTask } from "./statistics.worker.ts";

const system = useTestSystem();
const { signal } = new AbortController();
/** Runs the task count_replies even if the service has just run it. */
async function countReplies(abortSignal = signal, database = system.database) {
  await system.admin.query("UPDATE conversation.task_leases SET due_at = now() WHERE task = 'count_replies'");
  await createReplyCountTask(database)(abortSignal);
}
/** Returns the statistics of the last `days` days; 0 for 30 days. */
const statistics = (workspaceId: string, days = 0) =>
  system.createAdminClient(TurnAdminService).getStatistics({ workspaceId, days });
const today = () => new Date().toISOString().slice(0, 10);
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
const moveBack = (turnId: string, interval: string) =>
  system.admin.query(
    `UPDATE conversation.turns SET opened_at = opened_at - $2::interval, closed_at = closed_at - $2::interval WHERE turn_id = $1`,
    [turnId, interval],
  );

// Waits until the service has run the task. Before each test, deletes the progress of earlier runs.
beforeAll(async () => {
  const succeeded = "SELECT FROM conversation.task_leases WHERE task = 'count_replies' AND succeeded_at IS NOT NULL";
  await vi.waitFor(async () => expect((await system.admin.query(succeeded)).rowCount).toBe(1), { timeout: 10_000 });
});
beforeEach(() => system.admin.query("DELETE FROM conversation.task_leases WHERE task = 'count_replies'"));

test("GetStatistics counts the rated sessions and each day's replies that were and were not answered from passages, and returns percentiles of the first-token times", async () => {
  const bot = await createBot(system.database);
  const { workspaceId, id: botId } = bot;
  const newQuestion = (fields = {}) => newTurn(bot, { message: "Where is my parcel?", ...fields });
  const rated = newQuestion({ chunkIds: [1] });
  const messageId = await runTurn(system.database, rated, { firstTokenMs: 900, chunksCited: [1] });
  await runTurn(system.database, newQuestion(), { firstTokenMs: 800 });
  await runTurn(system.database, newQuestion(), { firstTokenMs: 0, finishDetail: "declined" });
  await runTurn(system.database, newQuestion({ chunkIds: [1] }), { firstTokenMs: 0, finishDetail: "declined" });
  await runTurn(system.database, newTurn(bot, { message: "Thanks!" }), { firstTokenMs: 0 });
  await runTurn(system.database, newQuestion(), { outcome: "error", month: undefined });
  await openTurn(system.database, newTurn(bot));
  const old = newQuestion({ chunkIds: [1, 2] });
  await runTurn(system.database, old, { firstTokenMs: 3_000 });
  await moveBack(old.turnId, "3 days");
  const { sessionId } = rated;
  await rateMessage(system.database, { workspaceId, botId, sessionId, messageId: String(messageId), rating: "down" });
  await countReplies();
  const last30Days = await statistics(workspaceId);
  // Percentiles are interpolated within buckets: here 500 to 1,000 ms with two replies, and 2,000 to 4,000 ms with one reply.
  expect(last30Days).toMatchObject({
    days: [
      { day: daysAgo(3), replies: 1, grounded: 1, ungrounded: 0, cited: 0, declined: 0 },
      { day: today(), replies: 5, grounded: 1, ungrounded: 3, cited: 1, declined: 1 },
    ],
    firstTokenMedianMs: 875,
    sessionsRatedUp: 0,
    sessionsRatedDown: 1,
  });
  expect(last30Days.firstTokenP95Ms).toBeGreaterThan(3_000);
  expect((await statistics(workspaceId, 1)).days).toMatchObject([{ day: today(), replies: 5 }]);
});

test("the task counts a turn that was committed after its hour was counted, and counts each turn once", async () => {
  const bot = await createBot(system.database);
  const [first, late] = [newTurn(bot), newTurn(bot)];
  await runTurn(system.database, first);
  await countReplies();
  await countReplies();
  expect((await statistics(bot.workspaceId)).days).toMatchObject([{ replies: 1 }]);
  await runTurn(system.database, late);
  await moveBack(late.turnId, "1 hour");
  await countReplies();
  const { days } = await statistics(bot.workspaceId);
  expect(days.reduce((sum, { replies }) => sum + replies, 0)).toBe(2);
});

test("an aborted run releases its lease, and the next run starts with the last hour that the aborted run counted", async () => {
  const stopping = new AbortController();
  const starts: Date[] = [];
  // Aborts the run during its first statement, which counts a day.
  const query = (...[statement, values]: [{ name?: string; values: [Date] } | string, unknown[]?]) => {
    if (typeof statement === "object" && statement.name === "count_hours") {
      starts.push(statement.values[0]);
      stopping.abort();
    }
    return system.database.query(statement as string, values);
  };
  const database = { query } as unknown as Database;
  await countReplies(stopping.signal, database);
  expect(starts).toHaveLength(1);
  const isDue = "SELECT FROM conversation.task_leases WHERE task = 'count_replies' AND due_at <= now()";
  expect((await system.admin.query(isDue)).rowCount).toBe(1);
  await countReplies(signal, database);
  const [first, next] = starts;
  expect(Number(next) - Number(first)).toBe(23 * 3_600_000);
});

test("the task counts replies after the database's clock was set back", async () => {
  const bot = await createBot(system.database);
  await countReplies();
  const future = new Date(Date.now() + 86_400_000).toISOString();
  await system.admin.query("UPDATE conversation.task_leases SET progress = $1 WHERE task = 'count_replies'", [
    { counted_to: future },
  ]);
  await runTurn(system.database, newTurn(bot));
  await countReplies();
  expect((await statistics(bot.workspaceId)).days).toMatchObject([{ replies: 1 }]);
});

test("the first run counts the replies of 100 days, and the task deletes older counts", async () => {
  const bot = await createBot(system.database);
  const old = newTurn(bot);
  await runTurn(system.database, old);
  await moveBack(old.turnId, "99 days");
  await countReplies();
  const countRows = async () => {
    const { rows } = await system.admin.query(
      "SELECT count(*) AS rows FROM conversation.reply_counts WHERE workspace_id = $1",
      [bot.workspaceId],
    );
    return Number(rows[0]?.rows);
  };
  expect(await countRows()).toBe(1);
  await system.admin.query(
    "UPDATE conversation.reply_counts SET hour = hour - interval '5 days' WHERE workspace_id = $1",
    [bot.workspaceId],
  );
  await countReplies();
  expect(await countRows()).toBe(0);
});

test("GetStatistics counts at most 10,000 sessions of each rating", async () => {
  const bot = await createBot(system.database);
  await insertSessions(system.admin, bot, { sessions: 20_002, turns: 0 });
  await system.admin.query(
    `UPDATE conversation.sessions
     SET ratings_up = 1, ratings_down = (number % 2)::integer, last_activity_at = now()
     FROM (SELECT session_id AS id, row_number() OVER () AS number FROM conversation.sessions WHERE workspace_id = $1) numbered
     WHERE session_id = id`,
    [bot.workspaceId],
  );
  expect(await statistics(bot.workspaceId)).toMatchObject({ sessionsRatedUp: 10_000, sessionsRatedDown: 10_000 });
});

test("GetStatistics returns nothing of another workspace, and refuses invalid days", async () => {
  const bot = await createBot(system.database);
  await runTurn(system.database, newTurn(bot));
  await countReplies();
  const other = await createBot(system.database);
  for (const workspaceId of [other.workspaceId, "no such workspace"])
    expect(await statistics(workspaceId)).toMatchObject({ days: [], firstTokenMedianMs: 0 });
  for (const days of [-1, 91])
    expect(await adminFailure(statistics(bot.workspaceId, days))).toMatchObject({ code: Code.InvalidArgument });
});

test("CompareWeeks counts the complete replies of the last 168 hours and of the 168 hours before, and omits workspaces without any", async () => {
  const [bot, idle] = [await createBot(system.database), await createBot(system.database)];
  for (const interval of ["0", "6 days", "8 days", "9 days", "13 days", "15 days"]) {
    const turn = newTurn(bot);
    await runTurn(system.database, turn);
    await moveBack(turn.turnId, interval);
  }
  await runTurn(system.database, newTurn(bot), { outcome: "error", month: undefined });
  const old = newTurn(idle);
  await runTurn(system.database, old);
  await moveBack(old.turnId, "15 days");
  await countReplies();
  const compare = (workspaceIds: string[]) => system.createAdminClient(TurnAdminService).compareWeeks({ workspaceIds });
  expect((await compare([bot.workspaceId, idle.workspaceId, "not an id"])).workspaces).toMatchObject([
    { workspaceId: bot.workspaceId, lastWeek: 2, weekBefore: 3 },
  ]);
  expect((await compare([])).workspaces).toEqual([]);
  expect(await adminFailure(compare(Array.from({ length: 1_001 }, (_, index) => `w${index}`)))).toMatchObject({
    code: Code.InvalidArgument,
  });
});
