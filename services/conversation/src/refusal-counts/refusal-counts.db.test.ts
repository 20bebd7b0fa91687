import type { Outcome } from "@parley/rpc/outcomes";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, newClosing, newTurn, runTurn } from "../testing/turns.ts";
import { closeTurn } from "../turns/close-turn.store.ts";
import { type NewTurn, openTurn } from "../turns/open-turn.store.ts";
import { MAX_STORED_QUOTA_REFUSALS, MAX_STORED_REFUSALS } from "./refusal-counts.store.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const CONCURRENCY = 8;
const SENT = {
  message: "m".repeat(4_000),
  visitorMetadata: JSON.stringify({ a: "v".repeat(16_000) }),
  referrer: "r".repeat(2_000),
  userAgent: "u".repeat(2_000),
};
const BLOCKED = { reason: "blocked_pattern", fallback: "No." };
const NOTHING = { content: "", month: undefined };

async function setCount(bot: Bot, outcome: Outcome, turns: number, daysAgo = 0) {
  await db.admin.query(
    `INSERT INTO conversation.refusal_counts VALUES ($1, $2, (now() AT TIME ZONE 'UTC')::date - $4::integer, $3)
     ON CONFLICT (workspace_id, outcome) DO UPDATE SET day = excluded.day, turns = excluded.turns`,
    [bot.workspaceId, outcome, turns, daysAgo],
  );
}

/** Returns the number of characters that each message and the session's fields of a turn take in the database. */
async function storedSizes({ workspaceId, sessionId, turnId }: NewTurn) {
  const { rows } = await db.admin.query(
    `SELECT (SELECT length(content) FROM conversation.messages m WHERE m.turn_id = $3 AND role = 'user') AS message,
            (SELECT length(content) FROM conversation.messages m WHERE m.turn_id = $3 AND role = 'assistant') AS reply,
            length(visitor_metadata::text) AS metadata, length(referrer) AS referrer, length(user_agent) AS "userAgent", visitor_id AS "visitorId"
     FROM conversation.sessions WHERE workspace_id = $1 AND session_id = $2`,
    [workspaceId, sessionId, turnId],
  );
  return rows[0];
}

const EMPTY_SESSION = { metadata: 2, referrer: 0, userAgent: 0 };

test("a flood of refused turns in new sessions stores the texts of 1,000, and of as many more as run concurrently", async () => {
  const bot = await createBot(db.database);
  let left = MAX_STORED_QUOTA_REFUSALS + 60;
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      while (left-- > 0) await runTurn(db.database, newTurn(bot, SENT), { ...NOTHING, outcome: "quota_exceeded" });
    }),
  );
  const { rows } = await db.admin.query(
    `SELECT (SELECT count(*)::integer FROM conversation.messages WHERE workspace_id = $1 AND content <> '') AS messages,
            (SELECT count(*)::integer FROM conversation.sessions
             WHERE workspace_id = $1 AND (visitor_metadata <> '{}' OR referrer <> '' OR user_agent <> '')) AS sessions,
            (SELECT count(*)::integer FROM conversation.turns WHERE workspace_id = $1 AND status = 'quota_exceeded') AS turns`,
    [bot.workspaceId],
  );
  const [stored] = rows;
  expect(stored.turns).toBe(MAX_STORED_QUOTA_REFUSALS + 60);
  for (const count of [stored.messages, stored.sessions]) {
    expect(count).toBeGreaterThanOrEqual(MAX_STORED_QUOTA_REFUSALS);
    expect(count).toBeLessThan(MAX_STORED_QUOTA_REFUSALS + CONCURRENCY);
  }
}, 60_000);

test("CloseTurn empties both texts of a turn above the limit, and what a session that began there has of its visitor", async () => {
  const bot = await createBot(db.database);
  await setCount(bot, "quota_exceeded", MAX_STORED_QUOTA_REFUSALS);
  const first = newTurn(bot, { ...SENT, visitorId: "v1" });
  await runTurn(db.database, first, { ...NOTHING, outcome: "quota_exceeded", content: "so far" });
  expect(await storedSizes(first)).toEqual({ message: 0, reply: 0, ...EMPTY_SESSION, visitorId: "v1" });
  const second = newTurn(bot, { ...SENT, sessionId: first.sessionId });
  await runTurn(db.database, second, { ...NOTHING, outcome: "quota_exceeded" });
  expect(await storedSizes(second)).toMatchObject({ message: 0, ...EMPTY_SESSION });
});

test("a turn above the limit changes no other turn and keeps the metadata of a session that began below it", async () => {
  const bot = await createBot(db.database);
  const answered = newTurn(bot, SENT);
  await runTurn(db.database, answered);
  await setCount(bot, "quota_exceeded", MAX_STORED_QUOTA_REFUSALS);
  const refused = newTurn(bot, { sessionId: answered.sessionId, message: "again" });
  await runTurn(db.database, refused, { ...NOTHING, outcome: "quota_exceeded" });
  const session = { metadata: SENT.visitorMetadata.length + 1, referrer: 2_000, userAgent: 2_000 };
  expect(await storedSizes(answered)).toMatchObject({ message: 4_000, reply: 3, ...session });
  expect(await storedSizes(refused)).toMatchObject({ message: 0, ...session });
});

test("the count begins again on the next day, and each workspace and outcome has its own", async () => {
  const bot = await createBot(db.database);
  await setCount(bot, "quota_exceeded", MAX_STORED_QUOTA_REFUSALS, 1);
  await setCount(bot, "error", MAX_STORED_REFUSALS);
  const refused = newTurn(bot, SENT);
  await runTurn(db.database, refused, { ...NOTHING, outcome: "quota_exceeded" });
  expect(await storedSizes(refused)).toMatchObject({ message: 4_000 });
  const { rows } = await db.admin.query(
    "SELECT turns, day = (now() AT TIME ZONE 'UTC')::date AS today FROM conversation.refusal_counts WHERE workspace_id = $1 AND outcome = 'quota_exceeded'",
    [bot.workspaceId],
  );
  expect(rows).toEqual([{ turns: 1, today: true }]);
  const failed = newTurn(bot, SENT);
  await runTurn(db.database, failed, { ...NOTHING, outcome: "error", errorCode: "provider_error" });
  expect(await storedSizes(failed)).toMatchObject({ message: 0 });
});

test.each<Outcome>(["error", "cancelled", "interrupted", "blocked"])(
  "a turn that ends as %s without a reply loses its texts above the limit, one with a reply does not",
  async (outcome) => {
    const bot = await createBot(db.database);
    await setCount(bot, outcome, MAX_STORED_REFUSALS);
    const refused = newTurn(bot, SENT);
    await runTurn(db.database, refused, { ...NOTHING, outcome });
    expect(await storedSizes(refused)).toMatchObject({ message: 0, ...EMPTY_SESSION });
    const cut = newTurn(bot, SENT);
    await runTurn(db.database, cut, { ...NOTHING, outcome, content: "so far" });
    expect(await storedSizes(cut)).toMatchObject({ message: 4_000, reply: 6 });
  },
);

test("OpenTurn stores the message that a pattern blocks only below the limit, and always the fallback", async () => {
  const bot = await createBot(db.database);
  await setCount(bot, "blocked", MAX_STORED_REFUSALS - 1);
  const below = newTurn(bot, { ...SENT, blocked: BLOCKED });
  await openTurn(db.database, below);
  expect(await storedSizes(below)).toMatchObject({ message: 4_000, reply: 3, referrer: 2_000 });
  const above = newTurn(bot, { ...SENT, blocked: BLOCKED });
  expect(await openTurn(db.database, above)).toMatchObject({ messageId: expect.any(Number) });
  expect(await storedSizes(above)).toMatchObject({ message: 0, reply: 3, ...EMPTY_SESSION });
  await openTurn(db.database, { ...newTurn(bot, { ...SENT, blocked: BLOCKED }), sessionId: below.sessionId });
  expect(await storedSizes(below)).toMatchObject({ message: 4_000, metadata: SENT.visitorMetadata.length + 1 });
});

test("a refusal is counted once, and a repeated CloseTurn does nothing", async () => {
  const bot = await createBot(db.database);
  const turn = newTurn(bot);
  await openTurn(db.database, turn);
  const closing = newClosing(turn, { ...NOTHING, outcome: "quota_exceeded" });
  expect(await closeTurn(db.database, closing)).toBeDefined();
  expect(await closeTurn(db.database, closing)).toBeUndefined();
  const { rows } = await db.admin.query("SELECT turns FROM conversation.refusal_counts WHERE workspace_id = $1", [
    bot.workspaceId,
  ]);
  expect(rows).toEqual([{ turns: 1 }]);
});
