import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { HISTORY_CHARACTERS } from "./budget.ts";
import { findOpenedTurn, openTurn } from "./open-turn.store.ts";

let db: TestDatabase;
let bot: Bot;
beforeAll(async () => {
  db = await createTestDatabase();
  bot = await createBot(db.database);
});
afterAll(() => db.drop());

const rowsOf = async (sql: string, ...values: unknown[]) => (await db.admin.query(sql, values)).rows;

const messagesOf = (sessionId: string) =>
  rowsOf("SELECT * FROM conversation.messages WHERE session_id = $1 ORDER BY message_id", sessionId);

describe("openTurn", () => {
  test("stores the session, the turn, and the visitor's message and the reply with adjacent ids", async () => {
    const turn = newTurn(bot, {
      visitorId: "v1",
      visitorMetadata: '{"plan":"pro"}',
      referrer: "https://a.example/",
      userAgent: "UA",
    });
    const opened = await openTurn(db.database, turn);
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
    const [message, reply] = await messagesOf(turn.sessionId);
    expect(message).toMatchObject({ role: "user", content: "Hello?", status: "done", model: "" });
    expect(reply).toMatchObject({ role: "assistant", content: "", status: "streaming", model: bot.model });
    expect(reply?.message_id).toBe(opened?.messageId);
    expect(message?.message_id).toBe((opened?.messageId ?? 0) - 1);
    const [stored] = await rowsOf("SELECT * FROM conversation.turns WHERE turn_id = $1", turn.turnId);
    expect(stored).toMatchObject({
      status: "streaming",
      message_id: opened?.messageId,
      edge_id: turn.edgeId,
      closed_at: null,
    });
  });

  test("stores a blocked turn with the fallback as its reply, and adds nothing to the outbox", async () => {
    const turn = newTurn(bot, { blocked: { reason: "rude", fallback: "No." } });
    const opened = await openTurn(db.database, turn);
    const [, reply] = await messagesOf(turn.sessionId);
    expect(reply).toMatchObject({ status: "blocked", content: "No.", message_id: opened?.messageId });
    const [stored] = await rowsOf("SELECT * FROM conversation.turns WHERE turn_id = $1", turn.turnId);
    expect(stored).toMatchObject({ status: "blocked", blocked_reason: "rude" });
    expect(await rowsOf("SELECT * FROM conversation.outbox WHERE turn_id = $1", turn.turnId)).toEqual([]);
  });

  test("stores a turn once when fifty calls open it concurrently", async () => {
    const turn = newTurn(bot);
    const results = await Promise.all(Array.from({ length: 50 }, () => openTurn(db.database, turn)));
    const [first] = results.filter((result) => result !== undefined);
    expect(results.filter((result) => result !== undefined)).toHaveLength(1);
    expect(await messagesOf(turn.sessionId)).toHaveLength(2);
    expect(await findOpenedTurn(db.database, bot.workspaceId, turn.turnId)).toMatchObject({
      messageId: first?.messageId,
    });
  });

  test("changes nothing when the turn exists, even if the new call has another session and message", async () => {
    const turn = newTurn(bot, { visitorMetadata: '{"a":1}' });
    await openTurn(db.database, turn);
    const before = await rowsOf("SELECT * FROM conversation.sessions WHERE session_id = $1", turn.sessionId);
    const other = { ...turn, sessionId: randomUUID(), message: "other", visitorMetadata: '{"a":2}' };
    expect(await openTurn(db.database, turn)).toBeUndefined();
    expect(await openTurn(db.database, other)).toBeUndefined();
    expect(await rowsOf("SELECT * FROM conversation.sessions WHERE session_id = $1", turn.sessionId)).toEqual(before);
    expect(await rowsOf("SELECT * FROM conversation.sessions WHERE session_id = $1", other.sessionId)).toEqual([]);
    expect(await messagesOf(turn.sessionId)).toHaveLength(2);
  });

  test("stores one session when concurrent calls open the same turn in different sessions", async () => {
    const turn = newTurn(bot);
    const contenders = Array.from({ length: 20 }, () => ({ ...turn, sessionId: randomUUID() }));
    const results = await Promise.all(contenders.map((turn) => openTurn(db.database, turn)));
    expect(results.filter((result) => result !== undefined)).toHaveLength(1);
    const sessions = await rowsOf(
      "SELECT session_id FROM conversation.sessions WHERE session_id = ANY ($1)",
      contenders.map((turn) => turn.sessionId),
    );
    expect(sessions).toHaveLength(1);
  });

  test("orders the messages of a session's concurrent turns the same way by id and by time", async () => {
    const sessionId = randomUUID();
    await Promise.all(Array.from({ length: 40 }, () => openTurn(db.database, newTurn(bot, { sessionId }))));
    const messages = await messagesOf(sessionId);
    expect(messages).toHaveLength(80);
    expect(messages.map((message) => message.role)).toEqual(
      Array.from({ length: 40 }, () => ["user", "assistant"]).flat(),
    );
    const times = messages.map((message) => message.created_at.getTime());
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test("stores nothing in a session that has another bot or source or was deleted or erased", async () => {
    const sibling = await createBot(db.database, { workspaceId: bot.workspaceId });
    const turn = newTurn(bot);
    await openTurn(db.database, turn);
    const { sessionId } = turn;
    const refused = [newTurn(sibling, { sessionId }), newTurn(bot, { sessionId, source: "playground" })];
    for (const each of refused) expect(await openTurn(db.database, each)).toBeUndefined();
    for (const column of ["deleted_at", "erased_at"]) {
      await rowsOf(`UPDATE conversation.sessions SET ${column} = now() WHERE session_id = $1`, sessionId);
      const late = newTurn(bot, { sessionId });
      expect(await openTurn(db.database, late)).toBeUndefined();
      expect(await findOpenedTurn(db.database, bot.workspaceId, late.turnId)).toBeUndefined();
      await rowsOf(`UPDATE conversation.sessions SET ${column} = NULL WHERE session_id = $1`, sessionId);
    }
    expect(await messagesOf(sessionId)).toHaveLength(2);
  });

  test("treats equal session ids of two workspaces as two sessions", async () => {
    const otherWorkspaceBot = await createBot(db.database);
    const turn = newTurn(bot);
    await openTurn(db.database, turn);
    const opened = await openTurn(
      db.database,
      newTurn(otherWorkspaceBot, { sessionId: turn.sessionId, turnId: turn.turnId }),
    );
    expect(opened?.history).toEqual([]);
    expect(await findOpenedTurn(db.database, bot.workspaceId, turn.turnId)).toMatchObject({ message: "Hello?" });
  });

  test("updates the visitor's id and metadata if the call has new ones, and keeps the first referrer", async () => {
    const turn = newTurn(bot, { visitorId: "v1", visitorMetadata: '{"a":1}', referrer: "r1" });
    await openTurn(db.database, turn);
    const { sessionId } = turn;
    await openTurn(db.database, newTurn(bot, { sessionId, referrer: "r2" }));
    const read = () =>
      rowsOf(
        "SELECT visitor_id, visitor_metadata, referrer FROM conversation.sessions WHERE session_id = $1",
        sessionId,
      );
    expect(await read()).toEqual([{ visitor_id: "v1", visitor_metadata: { a: 1 }, referrer: "r1" }]);
    await openTurn(db.database, newTurn(bot, { sessionId, visitorId: "v2", visitorMetadata: "{}" }));
    expect(await read()).toEqual([{ visitor_id: "v2", visitor_metadata: {}, referrer: "r1" }]);
  });
});

describe("history", () => {
  test("contains only turns with a complete reply, oldest first", async () => {
    const sessionId = randomUUID();
    await runTurn(db.database, newTurn(bot, { sessionId, message: "q1" }), { content: "a1" });
    await runTurn(db.database, newTurn(bot, { sessionId, message: "q2" }), { outcome: "error", content: "half" });
    await openTurn(
      db.database,
      newTurn(bot, { sessionId, message: "blocked", blocked: { reason: "r", fallback: "f" } }),
    );
    await openTurn(db.database, newTurn(bot, { sessionId, message: "still streaming" }));
    await runTurn(db.database, newTurn(bot, { sessionId, message: "q3" }), { content: "a3" });
    const opened = await openTurn(db.database, newTurn(bot, { sessionId }));
    expect(opened?.history).toEqual([
      { message: "q1", reply: "a1" },
      { message: "q3", reply: "a3" },
    ]);
  });

  test("contains the newest whole turns that fit into the budget", async () => {
    const sessionId = randomUUID();
    const third = "x".repeat(HISTORY_CHARACTERS / 3 - 2);
    for (const message of ["q1", "q2", "q3", "q4"])
      await runTurn(db.database, newTurn(bot, { sessionId, message }), { content: third });
    const opened = await openTurn(db.database, newTurn(bot, { sessionId }));
    expect(opened?.history.map((turn) => turn.message)).toEqual(["q2", "q3", "q4"]);
  });

  test("always contains the newest turn: a long reply is shortened in the middle", async () => {
    const sessionId = randomUUID();
    await runTurn(db.database, newTurn(bot, { sessionId, message: "q1" }), { content: "a1" });
    const message = "🎂".repeat(4_000);
    const content = `begin ${"📦".repeat(HISTORY_CHARACTERS * 2)} end`;
    await runTurn(db.database, newTurn(bot, { sessionId, message }), { content });
    const opened = await openTurn(db.database, newTurn(bot, { sessionId }));
    const newest = opened?.history.at(-1);
    expect(newest?.message).toBe(message);
    expect(newest?.reply).toMatch(/^begin (📦)+\n\[…\]\n(📦)+ end$/u);
    expect([...(newest?.reply ?? "")].length).toBeLessThanOrEqual((HISTORY_CHARACTERS * 3) / 4);
    expect([...(newest?.reply ?? "")].length).toBeGreaterThan((HISTORY_CHARACTERS * 3) / 4 - 20);
  });

  test("contains a long turn and the short turns after it", async () => {
    const sessionId = randomUUID();
    await runTurn(db.database, newTurn(bot, { sessionId, message: "q1" }), { content: "x".repeat(9_000) });
    for (const message of ["q2", "q3"])
      await runTurn(db.database, newTurn(bot, { sessionId, message }), { content: "ok" });
    const opened = await openTurn(db.database, newTurn(bot, { sessionId }));
    expect(opened?.history.map((turn) => turn.message)).toEqual(["q1", "q2", "q3"]);
  });

  test("is the same from findOpenedTurn as from openTurn, even after a later turn", async () => {
    const sessionId = randomUUID();
    await runTurn(db.database, newTurn(bot, { sessionId, message: "q1" }), { content: "a1" });
    const turn = newTurn(bot, { sessionId, message: "q2" });
    const opened = await openTurn(db.database, turn);
    await runTurn(db.database, newTurn(bot, { sessionId, message: "q3" }), { content: "a3" });
    const stored = await findOpenedTurn(db.database, bot.workspaceId, turn.turnId);
    expect(stored?.history).toEqual(opened?.history);
    expect(stored).toMatchObject({
      messageId: opened?.messageId,
      message: "q2",
      model: bot.model,
      blocked: undefined,
    });
  });
});
