import { randomUUID } from "node:crypto";
import { SessionAdminService } from "@parley/rpc/conversation";
import { beforeAll, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { collect, createLongSession } from "../testing/session-exports.ts";
import { useTestSystem } from "../testing/system.ts";
import { createBot, newOpenRequest, newTurn, runTurn } from "../testing/turns.ts";
import { openTurn } from "../turns/open-turn.store.ts";

const system = useTestSystem();
let bot: Bot;
beforeAll(async () => {
  bot = await createBot(system.database);
});

const stream = (sessionId: string, workspaceId = bot.workspaceId, signal = new AbortController().signal) =>
  system.sessions.getTranscript({ workspaceId, sessionId }, { timeoutMs: 60_000, signal });

const createSession = (turns: number, content?: string) => createLongSession(system, bot, turns, content);

test("GetTranscript exports the transcript with every field that the contract specifies", async () => {
  const visitor = {
    visitorId: "v1",
    visitorMetadata: '{"plan":"pro"}',
    referrer: "https://a.example/",
    userAgent: "UA",
  };
  const turn = newTurn(bot, { ...visitor, message: 'Say "hi" – ü👋\n' });
  const messageId = await runTurn(system.database, turn, { content: "hi", model: "openai:gpt" });
  await system.admin.query(
    "UPDATE conversation.messages SET rag_chunks_used = '{3,1}', rating = 'up' WHERE message_id = $1",
    [messageId],
  );
  await system.admin.query(
    "UPDATE conversation.sessions SET started_at = '2026-11-01 12:00:00+02', last_activity_at = '2026-11-01T10:00:01.5Z' WHERE session_id = $1",
    [turn.sessionId],
  );
  const { text } = await collect(stream(turn.sessionId.toUpperCase()));
  const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/);
  const common = { error_message: "", tools_called: [], created_at: at, status: "done" };
  expect(JSON.parse(text)).toEqual({
    session: {
      id: turn.sessionId,
      bot_slug: bot.slug,
      source: "widget",
      visitor_id: "v1",
      visitor_metadata: { plan: "pro" },
      referrer: "https://a.example/",
      user_agent: "UA",
      started_at: "2026-11-01T10:00:00.000000+00:00",
      last_activity_at: "2026-11-01T10:00:01.500000+00:00",
    },
    messages: [
      {
        ...common,
        id: String(messageId - 1),
        role: "user",
        content: 'Say "hi" – ü👋\n',
        rating: "",
        model: "",
        tokens_in: 0,
        tokens_out: 0,
        latency_ms: 0,
        rag_chunks_used: [],
      },
      {
        ...common,
        id: String(messageId),
        role: "assistant",
        content: "hi",
        rating: "up",
        model: "openai:gpt",
        tokens_in: 12,
        tokens_out: 3,
        latency_ms: 456,
        rag_chunks_used: [3, 1],
      },
    ],
  });
});

test("GetTranscript exports whether a visitor is verified, the consent and the contact messages, only with reviews", async () => {
  const turn = newTurn(bot, { visitorId: "v1", visitorVerified: true, consentVersion: "2" });
  await runTurn(system.database, turn);
  const { workspaceId, sessionId } = turn;
  const read = async (withReviews: boolean) => {
    const request = { workspaceId, sessionId, withReviews };
    return JSON.parse((await collect(system.sessions.getTranscript(request, { timeoutMs: 60_000 }))).text);
  };
  const { session } = await read(false);
  for (const name of ["visitor_verified", "consent_version", "consented_at", "contact_messages"])
    expect(session).not.toHaveProperty(name);
  const consent = { consent_version: "2", consented_at: session.started_at };
  expect((await read(true)).session).toEqual({ ...session, visitor_verified: true, ...consent, contact_messages: [] });
});

test("GetTranscript leaves out turns that are still streaming, and exports a session without messages", async () => {
  const turn = newTurn(bot);
  await openTurn(system.database, turn);
  const { sessionId } = turn;
  expect(JSON.parse((await collect(stream(sessionId))).text)).toMatchObject({
    session: { id: sessionId, visitor_metadata: {} },
    messages: [],
  });
  await runTurn(system.database, newTurn(bot, { sessionId, message: "second" }), {
    outcome: "error",
    errorCode: "provider_error",
  });
  const { messages } = JSON.parse((await collect(stream(sessionId))).text);
  expect(messages).toMatchObject([
    { role: "user", content: "second" },
    { role: "assistant", status: "error", error_message: "provider_error" },
  ]);
});

test("GetTranscript returns the same error for a missing, foreign, deleted or erased session and for a malformed id", async () => {
  const foreignBot = await createBot(system.database);
  const [deleted, erased] = [await createSession(1), await createSession(1)];
  await system
    .createAdminClient(SessionAdminService)
    .deleteSession({ workspaceId: bot.workspaceId, sessionId: deleted });
  await system.createAdminClient(SessionAdminService).eraseSession({ workspaceId: bot.workspaceId, sessionId: erased });
  const ownSession = await createSession(1);
  const failures: unknown[] = [];
  for (const pieces of [
    stream(randomUUID()),
    stream(ownSession, foreignBot.workspaceId),
    stream(ownSession, "no such workspace\0"),
    stream(deleted),
    stream(erased),
    stream("no-uuid"),
  ]) {
    await collect(pieces).catch(({ status, code, message }) => failures.push({ status, code, message }));
  }
  expect(failures).toEqual(Array(6).fill({ status: 5, code: "session_not_found", message: "no such session" }));
});

test("GetTranscript exports 20,000 messages completely, in order, in pieces of bounded size", async () => {
  const { pieces, text } = await collect(stream(await createSession(10_000)));
  expect(pieces.length).toBeGreaterThan(60);
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(256 * 1024);
  const ids = JSON.parse(text).messages.map((message: { id: string }) => Number(message.id));
  expect(ids).toHaveLength(20_000);
  expect(ids).toEqual(ids.toSorted((a: number, b: number) => a - b));
});

test("clients that stop reading hold no database connection, and delay no other export", async () => {
  const sessionId = await createSession(10_000, "y".repeat(2_000));
  const cancellation = new AbortController();
  // The service has fewer database connections for exports than there are readers.
  const readers = Array.from({ length: 8 }, () =>
    stream(sessionId, bot.workspaceId, cancellation.signal)[Symbol.asyncIterator](),
  );
  for (const reader of readers) await reader.next();
  const busyConnections = async () => {
    const { rows } = await system.admin.query(
      `SELECT state FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'parley-conversation-export'
         AND (state <> 'idle' OR backend_xmin IS NOT NULL)`,
    );
    return rows;
  };
  await expect.poll(busyConnections, { timeout: 10_000 }).toEqual([]);
  const { text } = await collect(stream(await createSession(300)));
  expect(JSON.parse(text).messages).toHaveLength(600);
  cancellation.abort();
});

test("an export fails when the session is erased during the export", async () => {
  const sessionId = await createSession(10_000, "y".repeat(2_000));
  const reader = stream(sessionId)[Symbol.asyncIterator]();
  await reader.next();
  await system.createAdminClient(SessionAdminService).eraseSession({ workspaceId: bot.workspaceId, sessionId });
  await expect(collect({ [Symbol.asyncIterator]: () => reader })).rejects.toMatchObject({ code: "session_not_found" });
});

test("an export leaves out messages that are added during the export", async () => {
  const sessionId = await createSession(2_000, "y".repeat(2_000));
  const reader = stream(sessionId)[Symbol.asyncIterator]();
  const first = await reader.next();
  await runTurn(system.database, newTurn(bot, { sessionId, message: "later" }));
  const rest = await collect({ [Symbol.asyncIterator]: () => reader });
  expect(JSON.parse(Buffer.from(first.value.json) + rest.text).messages).toHaveLength(4_000);
});

test("stalled exports do not delay turns", async () => {
  const sessionId = await createSession(10_000, "y".repeat(2_000));
  const cancellation = new AbortController();
  const readers = Array.from({ length: 4 }, () =>
    stream(sessionId, bot.workspaceId, cancellation.signal)[Symbol.asyncIterator](),
  );
  const firstPieces = Promise.allSettled(readers.map((reader) => reader.next()));
  // A turn that waited for the exports would fail at its deadline.
  const turns = Array.from({ length: 20 }, () =>
    system.conversation.openTurn(newOpenRequest(bot), { timeoutMs: 5_000 }),
  );
  await Promise.all(turns);
  cancellation.abort();
  await firstPieces;
});
