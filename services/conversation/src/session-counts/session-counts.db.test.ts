import { createLogger } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { eraseSession } from "../sessions/erase-session.store.ts";
import { rateMessage } from "../sessions/messages.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { openTurn } from "../turns/open-turn.store.ts";
import { recountAllSessions } from "./recount.worker.ts";

let db: TestDatabase;
let bot: Bot;
beforeAll(async () => {
  db = await createTestDatabase();
  bot = await createBot(db.database);
});
afterAll(() => db.drop());

const log = createLogger("test", "silent");
/** Recounts sessions however recent their last activity is. */
const recount = (signal = new AbortController().signal) =>
  recountAllSessions({ database: db.database, log }, signal, 0);

async function storedCounts(sessionId: string) {
  const { rows } = await db.admin.query(
    `SELECT message_count AS messages, ratings_up AS up, ratings_down AS down, counted_at = last_activity_at AS "areValid"
     FROM conversation.sessions WHERE session_id = $1`,
    [sessionId],
  );
  return rows[0];
}

async function countRows(sessionId: string) {
  const { rows } = await db.admin.query(
    `SELECT count(*) AS messages, count(*) FILTER (WHERE rating = 'up') AS up, count(*) FILTER (WHERE rating = 'down') AS down
     FROM conversation.messages WHERE session_id = $1`,
    [sessionId],
  );
  return { ...rows[0], areValid: true };
}

const rate = (sessionId: string, messageId: number, rating: string) =>
  rateMessage(db.database, {
    workspaceId: bot.workspaceId,
    botId: bot.id,
    sessionId,
    messageId: String(messageId),
    rating,
  });

/** Stores a turn without updating the session's counts, like a Parley version without migration 0015. */
async function storeUncounted(sessionId: string) {
  const turn = newTurn(bot, { sessionId });
  await db.admin.query(
    `INSERT INTO conversation.sessions AS s (workspace_id, session_id, bot_id, source, visitor_id, visitor_metadata, last_message_id, started_at, last_activity_at)
     VALUES ($1, $2, $3, 'widget', '', '{}', 2, now(), clock_timestamp())
     ON CONFLICT (workspace_id, session_id) DO UPDATE SET last_activity_at = clock_timestamp(), last_message_id = s.last_message_id + 2`,
    [bot.workspaceId, sessionId, bot.id],
  );
  await db.admin.query(
    `WITH id AS (SELECT last_message_id - 1 AS id FROM conversation.sessions WHERE session_id = $2::uuid)
     INSERT INTO conversation.messages (workspace_id, session_id, message_id, turn_id, role, content, status, rating, created_at)
     SELECT $1, $2::uuid, id, $3::uuid, 'user', 'q', 'done', '', now() FROM id
     UNION ALL SELECT $1, $2::uuid, id + 1, $3::uuid, 'assistant', 'a', 'done', 'down', now() FROM id`,
    [bot.workspaceId, sessionId, turn.turnId],
  );
}

test("turns and ratings update the counts of their session", async () => {
  const turn = newTurn(bot);
  const { sessionId } = turn;
  const first = await runTurn(db.database, turn);
  expect(await storedCounts(sessionId)).toEqual({ messages: 2, up: 0, down: 0, areValid: true });
  const second = await runTurn(db.database, newTurn(bot, { sessionId }));
  await openTurn(db.database, newTurn(bot, { sessionId, blocked: { reason: "r", fallback: "" } }));
  await openTurn(db.database, turn);
  expect(await storedCounts(sessionId)).toEqual({ messages: 6, up: 0, down: 0, areValid: true });
  for (const [message, rating, up, down] of [
    [first, "up", 1, 0],
    [second, "down", 1, 1],
    [second, "down", 1, 1],
    [first, "down", 0, 2],
    [first, "", 0, 1],
  ] as const) {
    expect(await rate(sessionId, message, rating)).toBe(true);
    expect(await storedCounts(sessionId)).toEqual({ messages: 6, up, down, areValid: true });
  }
  expect(await rate(sessionId, first - 1, "up")).toBe(false);
  expect(await storedCounts(sessionId)).toEqual(await countRows(sessionId));
});

test("concurrent turns, ratings and recounts of one session lose no count", async () => {
  for (let round = 0; round < 5; round++) {
    const { sessionId } = newTurn(bot);
    const messages = [
      await runTurn(db.database, newTurn(bot, { sessionId })),
      await runTurn(db.database, newTurn(bot, { sessionId })),
    ];
    await db.admin.query(
      "UPDATE conversation.sessions SET counted_at = NULL, message_count = 99 WHERE session_id = $1",
      [sessionId],
    );
    const ratings = ["up", "down", "", "up", "down", "down", "", "up"];
    await Promise.all([
      ...Array.from({ length: 10 }, () => runTurn(db.database, newTurn(bot, { sessionId }))),
      ...ratings.flatMap((rating) => messages.map((message) => rate(sessionId, message, rating))),
      ...Array.from({ length: 5 }, () => recount()),
    ]);
    await recount();
    expect(await storedCounts(sessionId)).toEqual(await countRows(sessionId));
  }
});

test("sessions and turns that a version without migration 0015 writes stay uncounted until a recount, which counts several batches", async () => {
  const sessions = Array.from({ length: 210 }, () => newTurn(bot).sessionId);
  for (const sessionId of sessions) await storeUncounted(sessionId);
  const continued = newTurn(bot);
  await runTurn(db.database, continued);
  await storeUncounted(continued.sessionId);
  expect(await storedCounts(continued.sessionId)).toMatchObject({ messages: 2, areValid: false });
  await runTurn(db.database, newTurn(bot, { sessionId: continued.sessionId }));
  expect(await storedCounts(continued.sessionId)).toMatchObject({ messages: 4, areValid: null });
  expect(await recount(AbortSignal.abort())).toBe(0);
  expect(await recount()).toBe(211);
  for (const sessionId of sessions)
    expect(await storedCounts(sessionId)).toEqual({ messages: 2, up: 0, down: 1, areValid: true });
  expect(await storedCounts(continued.sessionId)).toEqual({ messages: 6, up: 0, down: 1, areValid: true });
  expect(await recount()).toBe(0);
});

test("a session is not recounted before it has been inactive for ten minutes", async () => {
  const { sessionId } = newTurn(bot);
  await storeUncounted(sessionId);
  const { signal } = new AbortController();
  expect(await recountAllSessions({ database: db.database, log }, signal)).toBe(0);
  await db.admin.query(
    "UPDATE conversation.sessions SET last_activity_at = now() - interval '11 minutes' WHERE session_id = $1",
    [sessionId],
  );
  expect(await recountAllSessions({ database: db.database, log }, signal)).toBe(1);
  expect(await storedCounts(sessionId)).toEqual(await countRows(sessionId));
});

test("an erased session is neither rated nor counted", async () => {
  const turn = newTurn(bot);
  const message = await runTurn(db.database, turn);
  const erasing = eraseSession(db.database, bot.workspaceId, turn.sessionId);
  const rating = rate(turn.sessionId, message, "up");
  await Promise.all([erasing, rating]);
  expect(await rate(turn.sessionId, message, "down")).toBe(false);
  expect(await recount()).toBe(0);
  expect(await storedCounts(turn.sessionId)).toMatchObject({ messages: null, up: null, down: null });
});
