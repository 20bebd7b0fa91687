import { afterAll, beforeAll, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { openTurn } from "../turns/open-turn.store.ts";
import { eraseSession } from "./erase-session.store.ts";
import { rateMessage } from "./messages.store.ts";

let db: TestDatabase;
let bot: Bot;
beforeAll(async () => {
  db = await createTestDatabase();
  bot = await createBot(db.database);
});
afterAll(() => db.drop());

async function storedCounts(sessionId: string) {
  const { rows } = await db.admin.query(
    `SELECT message_count AS messages, ratings_up AS up, ratings_down AS down
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
  return rows[0];
}

const rate = (sessionId: string, messageId: number, rating: string) =>
  rateMessage(db.database, {
    workspaceId: bot.workspaceId,
    botId: bot.id,
    sessionId,
    messageId: String(messageId),
    rating,
  });

test("turns and ratings update the counts of their session", async () => {
  const turn = newTurn(bot);
  const { sessionId } = turn;
  const first = await runTurn(db.database, turn);
  expect(await storedCounts(sessionId)).toEqual({ messages: 2, up: 0, down: 0 });
  const second = await runTurn(db.database, newTurn(bot, { sessionId }));
  await openTurn(db.database, newTurn(bot, { sessionId, blocked: { reason: "r", fallback: "" } }));
  await openTurn(db.database, turn);
  expect(await storedCounts(sessionId)).toEqual({ messages: 6, up: 0, down: 0 });
  for (const [message, rating, up, down] of [
    [first, "up", 1, 0],
    [second, "down", 1, 1],
    [second, "down", 1, 1],
    [first, "down", 0, 2],
    [first, "", 0, 1],
  ] as const) {
    expect(await rate(sessionId, message, rating)).toBe(true);
    expect(await storedCounts(sessionId)).toEqual({ messages: 6, up, down });
  }
  expect(await rate(sessionId, first - 1, "up")).toBe(false);
  expect(await storedCounts(sessionId)).toEqual(await countRows(sessionId));
});

test("concurrent turns and ratings of one session lose no count", async () => {
  for (let round = 0; round < 5; round++) {
    const { sessionId } = newTurn(bot);
    const messages = [
      await runTurn(db.database, newTurn(bot, { sessionId })),
      await runTurn(db.database, newTurn(bot, { sessionId })),
    ];
    const ratings = ["up", "down", "", "up", "down", "down", "", "up"];
    await Promise.all([
      ...Array.from({ length: 10 }, () => runTurn(db.database, newTurn(bot, { sessionId }))),
      ...ratings.flatMap((rating) => messages.map((message) => rate(sessionId, message, rating))),
    ]);
    expect(await storedCounts(sessionId)).toEqual(await countRows(sessionId));
  }
});

test("a session that is erased while a reply is rated keeps no count", async () => {
  const turn = newTurn(bot);
  const message = await runTurn(db.database, turn);
  const erasing = eraseSession(db.database, bot.workspaceId, turn.sessionId);
  const rating = rate(turn.sessionId, message, "up");
  await Promise.all([erasing, rating]);
  expect(await rate(turn.sessionId, message, "down")).toBe(false);
  expect(await storedCounts(turn.sessionId)).toEqual({ messages: 0, up: 0, down: 0 });
});
