import { randomUUID } from "node:crypto";
import type { Database } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { eraseSession } from "../sessions/erase-session.store.ts";
import { rateMessage } from "../sessions/messages.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { addDocument } from "../testing/knowledge.ts";
import { createBot, newClosing, newTurn, runTurn } from "../testing/turns.ts";
import { addEndpoint } from "../testing/webhooks.ts";
import { closeTurn } from "../turns/close-turn.store.ts";
import { openTurn } from "../turns/open-turn.store.ts";
import { recordKnowledgeFailed } from "./index.ts";

let db: TestDatabase;
let database: Database;
beforeAll(async () => {
  db = await createTestDatabase();
  database = db.database;
});
afterAll(() => db.drop());

/** Returns the recorded events of a bot's workspace, oldest first, and forgets them. */
async function takeEvents({ workspaceId }: Bot) {
  const { rows } = await db.admin.query(
    `DELETE FROM conversation.events WHERE workspace_id = $1
     RETURNING type, session_id AS "sessionId", data, occurred_at AS at`,
    [workspaceId],
  );
  return rows.toSorted((a, b) => a.at - b.at).map(({ at: _, ...event }) => event);
}

async function createBotWithEndpoint(types?: string[]) {
  const bot = await createBot(database);
  await addEndpoint(database, bot.workspaceId, { ...(types && { types }) });
  return bot;
}

test("the first turn of a session records that it started, and each complete reply is recorded once", async () => {
  const bot = await createBotWithEndpoint();
  const turn = newTurn(bot);
  const messageId = await runTurn(database, turn);
  // Repeated calls, such as after a lost response.
  expect(await openTurn(database, turn)).toBeUndefined();
  expect(await closeTurn(database, newClosing(turn))).toBeUndefined();
  const session = { bot_slug: bot.slug, session_id: turn.sessionId, source: "widget" };
  expect(await takeEvents(bot)).toEqual([
    { type: "conversation.started", sessionId: turn.sessionId, data: session },
    {
      type: "message.completed",
      sessionId: turn.sessionId,
      data: {
        ...session,
        message_id: messageId,
        turn_id: turn.turnId,
        model: "builtin:extractive",
        tokens_in: 12,
        tokens_out: 3,
        latency_ms: 456,
      },
    },
  ]);
  await runTurn(database, newTurn(bot, { sessionId: turn.sessionId }));
  expect((await takeEvents(bot)).map(({ type }) => type)).toEqual(["message.completed"]);
});

test("concurrent attempts to close a turn record one event", async () => {
  const bot = await createBotWithEndpoint(["message.completed"]);
  const turn = newTurn(bot);
  await openTurn(database, turn);
  await Promise.all(Array.from({ length: 8 }, () => closeTurn(database, newClosing(turn))));
  expect(await takeEvents(bot)).toHaveLength(1);
});

test("a blocked message and a blocked reply are recorded with their reason, other outcomes are not", async () => {
  const bot = await createBotWithEndpoint(["message.blocked", "message.completed"]);
  const blocked = { reason: "blocked_pattern", fallback: "No." };
  await openTurn(database, newTurn(bot, { blocked }));
  await runTurn(database, newTurn(bot), { outcome: "blocked", blockedReason: "bad_reply", content: "" });
  for (const outcome of ["error", "cancelled"] as const)
    await runTurn(database, newTurn(bot), { outcome, content: "" });
  expect(await takeEvents(bot)).toMatchObject([
    { type: "message.blocked", data: { reason: "blocked_pattern", message_id: expect.any(Number) } },
    { type: "message.blocked", data: { reason: "bad_reply", message_id: expect.any(Number) } },
  ]);
});

test("a rating is recorded when it changes, and an erasure once", async () => {
  const bot = await createBotWithEndpoint(["message.rated", "conversation.erased"]);
  const turn = newTurn(bot);
  const { workspaceId, sessionId } = turn;
  const target = { workspaceId, sessionId, botId: bot.id, messageId: String(await runTurn(database, turn)) };
  for (const rating of ["up", "up", ""]) await rateMessage(database, { ...target, rating });
  for (let count = 0; count < 2; count++) await eraseSession(database, workspaceId, sessionId);
  const ids = { bot_slug: bot.slug, session_id: sessionId };
  expect((await takeEvents(bot)).map(({ type, data }) => ({ type, data }))).toEqual([
    { type: "message.rated", data: { ...ids, message_id: Number(target.messageId), rating: "up" } },
    { type: "message.rated", data: { ...ids, message_id: Number(target.messageId), rating: "" } },
    { type: "conversation.erased", data: ids },
  ]);
});

test("events contain no text of the visitor or of the model", async () => {
  const bot = await createBotWithEndpoint();
  const turn = newTurn(bot, { message: "my secret question", visitorId: "secret-visitor" });
  await runTurn(database, turn, { content: "a secret reply" });
  expect(JSON.stringify(await takeEvents(bot))).not.toContain("secret");
});

test("a workspace without an enabled endpoint that wants an event records none", async () => {
  const [none, disabled, other] = [
    await createBot(database),
    await createBotWithEndpoint(),
    await createBotWithEndpoint(["message.rated"]),
  ];
  await db.admin.query(
    "UPDATE conversation.webhook_endpoints SET disabled_at = now(), disabled_reason = 'owner' WHERE workspace_id = $1",
    [disabled.workspaceId],
  );
  for (const bot of [none, disabled, other]) {
    const { workspaceId, slug: botSlug } = bot;
    await eraseSession(database, workspaceId, (await runTurnOf(bot)).sessionId);
    await recordKnowledgeFailed(database, { workspaceId, botSlug, name: "n", code: "unreachable" });
    expect(await takeEvents(bot)).toEqual([]);
  }
});

async function runTurnOf(bot: Bot) {
  const turn = newTurn(bot, { sessionId: randomUUID() });
  await runTurn(database, turn);
  return turn;
}

test("a document that cannot be added or refreshed is recorded", async () => {
  const bot = await createBotWithEndpoint(["knowledge.failed"]);
  const { workspaceId, slug: botSlug } = bot;
  await addDocument(database, bot, "prices", "words");
  for (const name of ["prices", "new"])
    await recordKnowledgeFailed(database, { workspaceId, botSlug, name, code: "timeout" });
  const data = { bot_slug: botSlug, code: "timeout" };
  expect((await takeEvents(bot)).map((each) => each.data)).toEqual(
    expect.arrayContaining([
      { ...data, name: "prices", refresh: true },
      { ...data, name: "new", refresh: false },
    ]),
  );
});

test("a transaction that is rolled back records no event", async () => {
  const bot = await createBotWithEndpoint();
  await db.admin.query(`
    CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON conversation.outbox FOR EACH ROW
      WHEN (NEW.workspace_id = '${bot.workspaceId}') EXECUTE FUNCTION public.refuse()`);
  const turn = newTurn(bot);
  await openTurn(database, turn);
  await takeEvents(bot);
  await expect(closeTurn(database, newClosing(turn))).rejects.toThrow("refused");
  expect(await takeEvents(bot)).toEqual([]);
  await db.admin.query("DROP FUNCTION public.refuse CASCADE");
  await closeTurn(database, newClosing(turn));
  expect(await takeEvents(bot)).toHaveLength(1);
});
