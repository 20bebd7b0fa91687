import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { HISTORY_CHARACTERS } from "./budget.ts";
import { findTurn, openTurn } from "./open-turn.store.ts";

let test_: TestDatabase;
let bot: Bot;
beforeAll(async () => {
  test_ = await createTestDatabase();
  bot = await createBot(test_.database);
});
afterAll(() => test_.drop());

const rowsOf = async (sql: string, ...values: unknown[]) => (await test_.admin.query(sql, values)).rows;

const messagesOf = (sessionId: string) =>
  rowsOf("SELECT * FROM conversation.messages WHERE session_id = $1 ORDER BY message_id", sessionId);

describe("openTurn", () => {
  test("stores the session, both messages with neighbouring ids, and the turn", async () => {
    const turn = newTurn(bot, {
      visitorId: "v1",
      visitorMetadata: '{"plan":"pro"}',
      referrer: "https://a.example/",
      userAgent: "UA",
    });
    const opened = await openTurn(test_.database, turn);
    expect(opened?.history).toEqual([]);
    const [session] = await rowsOf("SELECT * FROM conversation.sessions WHERE session_id = $1", turn.sessionId);
    expect(session).toMatchObject({
      workspace_id: bot.workspaceId,
      bot_id: bot.id,
      source: "widget",
      visitor_id: "v1",
      visitor_metadata: { plan: "pro" },
      referrer: "https://a.example/",
      user_agent: "UA",
    });
    const [question, answer] = await messagesOf(turn.sessionId);
    expect(question).toMatchObject({ role: "user", content: "Hello?", status: "done", model: "" });
    expect(answer).toMatchObject({ role: "assistant", content: "", status: "streaming", model: bot.model });
    expect(answer?.message_id).toBe(opened?.messageId);
    expect(question?.message_id).toBe((opened?.messageId ?? 0) - 1);
    const [stored] = await rowsOf("SELECT * FROM conversation.turns WHERE turn_id = $1", turn.turnId);
    expect(stored).toMatchObject({
      status: "streaming",
      message_id: opened?.messageId,
      edge_id: turn.edgeId,
      closed_at: null,
    });
  });

  test("stores a blocked message with its outcome at once, and nothing to settle", async () => {
    const turn = newTurn(bot, { blocked: { reason: "rude", fallback: "No." } });
    const opened = await openTurn(test_.database, turn);
    const [, answer] = await messagesOf(turn.sessionId);
    expect(answer).toMatchObject({ status: "blocked", content: "No.", message_id: opened?.messageId });
    const [stored] = await rowsOf("SELECT * FROM conversation.turns WHERE turn_id = $1", turn.turnId);
    expect(stored).toMatchObject({ status: "blocked", blocked_reason: "rude" });
    expect(await rowsOf("SELECT * FROM conversation.outbox WHERE turn_id = $1", turn.turnId)).toEqual([]);
  });

  test("opened fifty times at once, a turn is stored once", async () => {
    const turn = newTurn(bot);
    const answers = await Promise.all(Array.from({ length: 50 }, () => openTurn(test_.database, turn)));
    const [first] = answers.filter((answer) => answer !== undefined);
    expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1);
    expect(await messagesOf(turn.sessionId)).toHaveLength(2);
    expect(await findTurn(test_.database, bot.workspaceId, turn.turnId)).toMatchObject({ messageId: first?.messageId });
  });

  test("a repeated turn changes nothing, not even with another session and text", async () => {
    const turn = newTurn(bot, { visitorMetadata: '{"a":1}' });
    await openTurn(test_.database, turn);
    const before = await rowsOf("SELECT * FROM conversation.sessions WHERE session_id = $1", turn.sessionId);
    const other = { ...turn, sessionId: randomUUID(), message: "other", visitorMetadata: '{"a":2}' };
    expect(await openTurn(test_.database, turn)).toBeUndefined();
    expect(await openTurn(test_.database, other)).toBeUndefined();
    expect(await rowsOf("SELECT * FROM conversation.sessions WHERE session_id = $1", turn.sessionId)).toEqual(before);
    expect(await rowsOf("SELECT * FROM conversation.sessions WHERE session_id = $1", other.sessionId)).toEqual([]);
    expect(await messagesOf(turn.sessionId)).toHaveLength(2);
  });

  test("two sessions that fight for one turn id leave one session behind", async () => {
    const turn = newTurn(bot);
    const rivals = Array.from({ length: 20 }, () => ({ ...turn, sessionId: randomUUID() }));
    const answers = await Promise.all(rivals.map((rival) => openTurn(test_.database, rival)));
    expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1);
    const sessions = await rowsOf(
      "SELECT session_id FROM conversation.sessions WHERE session_id = ANY ($1)",
      rivals.map((rival) => rival.sessionId),
    );
    expect(sessions).toHaveLength(1);
  });

  test("orders the turns of a session alike by id and by time, however many open at once", async () => {
    const sessionId = randomUUID();
    await Promise.all(Array.from({ length: 40 }, () => openTurn(test_.database, newTurn(bot, { sessionId }))));
    const messages = await messagesOf(sessionId);
    expect(messages).toHaveLength(80);
    expect(messages.map((message) => message.role)).toEqual(
      Array.from({ length: 40 }, () => ["user", "assistant"]).flat(),
    );
    const times = messages.map((message) => message.created_at.getTime());
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test("refuses a session of another bot or source, and a deleted or erased one, and stores nothing", async () => {
    const sibling = await createBot(test_.database, { workspaceId: bot.workspaceId });
    const turn = newTurn(bot);
    await openTurn(test_.database, turn);
    const { sessionId } = turn;
    const refused = [newTurn(sibling, { sessionId }), newTurn(bot, { sessionId, source: "playground" })];
    for (const each of refused) expect(await openTurn(test_.database, each)).toBeUndefined();
    for (const column of ["deleted_at", "erased_at"]) {
      await rowsOf(`UPDATE conversation.sessions SET ${column} = now() WHERE session_id = $1`, sessionId);
      const late = newTurn(bot, { sessionId });
      expect(await openTurn(test_.database, late)).toBeUndefined();
      expect(await findTurn(test_.database, bot.workspaceId, late.turnId)).toBeUndefined();
      await rowsOf(`UPDATE conversation.sessions SET ${column} = NULL WHERE session_id = $1`, sessionId);
    }
    expect(await messagesOf(sessionId)).toHaveLength(2);
  });

  test("a session id of another workspace is an independent session", async () => {
    const stranger = await createBot(test_.database);
    const turn = newTurn(bot);
    await openTurn(test_.database, turn);
    const opened = await openTurn(
      test_.database,
      newTurn(stranger, { sessionId: turn.sessionId, turnId: turn.turnId }),
    );
    expect(opened?.history).toEqual([]);
    expect(await findTurn(test_.database, bot.workspaceId, turn.turnId)).toMatchObject({ message: "Hello?" });
  });

  test("keeps the visitor's data unless new data comes", async () => {
    const turn = newTurn(bot, { visitorId: "v1", visitorMetadata: '{"a":1}', referrer: "r1" });
    await openTurn(test_.database, turn);
    const { sessionId } = turn;
    await openTurn(test_.database, newTurn(bot, { sessionId, referrer: "r2" }));
    const read = () =>
      rowsOf(
        "SELECT visitor_id, visitor_metadata, referrer FROM conversation.sessions WHERE session_id = $1",
        sessionId,
      );
    expect(await read()).toEqual([{ visitor_id: "v1", visitor_metadata: { a: 1 }, referrer: "r1" }]);
    await openTurn(test_.database, newTurn(bot, { sessionId, visitorId: "v2", visitorMetadata: "{}" }));
    expect(await read()).toEqual([{ visitor_id: "v2", visitor_metadata: {}, referrer: "r1" }]);
  });
});

describe("history", () => {
  test("holds the finished turns, oldest first, and no other", async () => {
    const sessionId = randomUUID();
    await runTurn(test_.database, newTurn(bot, { sessionId, message: "q1" }), { content: "a1" });
    await runTurn(test_.database, newTurn(bot, { sessionId, message: "q2" }), { outcome: "error", content: "half" });
    await openTurn(
      test_.database,
      newTurn(bot, { sessionId, message: "blocked", blocked: { reason: "r", fallback: "f" } }),
    );
    await openTurn(test_.database, newTurn(bot, { sessionId, message: "still streaming" }));
    await runTurn(test_.database, newTurn(bot, { sessionId, message: "q3" }), { content: "a3" });
    const opened = await openTurn(test_.database, newTurn(bot, { sessionId }));
    expect(opened?.history).toEqual([
      { question: "q1", answer: "a1" },
      { question: "q3", answer: "a3" },
    ]);
  });

  test("goes back as far as the budget reaches, whole turns only", async () => {
    const sessionId = randomUUID();
    const third = "x".repeat(HISTORY_CHARACTERS / 3 - 2);
    for (const question of ["q1", "q2", "q3", "q4"])
      await runTurn(test_.database, newTurn(bot, { sessionId, message: question }), { content: third });
    const opened = await openTurn(test_.database, newTurn(bot, { sessionId }));
    expect(opened?.history.map((each) => each.question)).toEqual(["q2", "q3", "q4"]);
  });

  test("of a repeated turn is what it was the first time", async () => {
    const sessionId = randomUUID();
    await runTurn(test_.database, newTurn(bot, { sessionId, message: "q1" }), { content: "a1" });
    const turn = newTurn(bot, { sessionId, message: "q2" });
    const opened = await openTurn(test_.database, turn);
    await runTurn(test_.database, newTurn(bot, { sessionId, message: "q3" }), { content: "a3" });
    const standing = await findTurn(test_.database, bot.workspaceId, turn.turnId);
    expect(standing?.history).toEqual(opened?.history);
    expect(standing).toMatchObject({
      messageId: opened?.messageId,
      message: "q2",
      model: bot.model,
      blocked: undefined,
    });
  });
});
