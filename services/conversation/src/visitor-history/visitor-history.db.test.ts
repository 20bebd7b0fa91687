import { randomUUID } from "node:crypto";
import { TurnOutcome } from "@parley/rpc/conversation";
import type { Outcome } from "@parley/rpc/outcomes";
import { expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { eraseSession } from "../sessions/erase-session.store.ts";
import { deleteSession } from "../sessions/sessions.store.ts";
import { insertSessions } from "../testing/sessions.ts";
import { rpcFailure, useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { openTurn } from "../turns/open-turn.store.ts";

const system = useTestSystem();
const OPTIONS = { timeoutMs: 10_000 };
const verified = (visitorId: string) => ({ visitorId, visitorVerified: true });
const claimed = (visitorId: string) => ({ visitorId, visitorVerified: false });

const listPage = ({ workspaceId, id: botId }: Bot, visitorId: string, pageToken = "") =>
  system.conversation.listVisitorSessions({ workspaceId, botId, visitorId, pageToken }, OPTIONS);
const listIds = async (bot: Bot, visitorId: string) => (await listPage(bot, visitorId)).sessions.map(({ id }) => id);
const readPage = ({ workspaceId, id: botId }: Bot, visitorId: string, sessionId: string, before = 0n) =>
  system.conversation.listVisitorMessages({ workspaceId, botId, visitorId, sessionId, before }, OPTIONS);

/** Inserts sessions that belong to a verified visitor. */
async function insertOwned(bot: Bot, visitorId: string, options: Parameters<typeof insertSessions>[2]) {
  const ids = await insertSessions(system.admin, bot, options);
  await system.admin.query(
    "UPDATE conversation.sessions SET visitor_id = $1, visitor_verified = true WHERE session_id = ANY ($2)",
    [visitorId, ids],
  );
  return ids;
}

async function readAllMessages(bot: Bot, visitorId: string, sessionId: string) {
  const pages: string[][] = [];
  let before = 0n;
  do {
    const { messages, nextBefore } = await readPage(bot, visitorId, sessionId, before);
    pages.push(messages.map(({ id }) => String(id)));
    before = nextBefore;
  } while (before !== 0n);
  return pages;
}

test("250 sessions are listed in 13 pages, last active first, each once, even if many have the same time", async () => {
  const bot = await createBot(system.database);
  const ids = await insertOwned(bot, "x", { sessions: 250 });
  const simultaneous = ids.slice(100, 200);
  await system.admin.query(
    `UPDATE conversation.sessions SET last_activity_at = (SELECT last_activity_at FROM conversation.sessions WHERE session_id = $1)
     WHERE session_id = ANY ($2)`,
    [ids[100], simultaneous],
  );
  const pages: string[][] = [];
  let pageToken = "";
  do {
    const page = await listPage(bot, "x", pageToken);
    pages.push(page.sessions.map(({ id }) => id));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  expect(pages.map(({ length }) => length)).toEqual([...Array(12).fill(20), 10]);
  expect(pages.flat()).toEqual([
    ...ids.slice(0, 100),
    ...simultaneous.toSorted((a, b) => (a < b ? 1 : -1)),
    ...ids.slice(200),
  ]);
});

test("a page that ends with the last session has no next page", async () => {
  const bot = await createBot(system.database);
  await insertOwned(bot, "x", { sessions: 20 });
  expect(await listPage(bot, "x")).toMatchObject({ sessions: { length: 20 }, nextPageToken: "" });
  expect(await listPage(bot, "y")).toMatchObject({ sessions: [], nextPageToken: "" });
});

test("a session has the beginning of its first message as title", async () => {
  const bot = await createBot(system.database);
  const turn = newTurn(bot, { ...verified("x"), message: `Hello ${"😀".repeat(100)}` });
  await runTurn(system.database, turn);
  await runTurn(system.database, newTurn(bot, { ...verified("x"), sessionId: turn.sessionId, message: "Bye" }));
  const { sessions } = await listPage(bot, "x");
  expect(sessions.map(({ title }) => title)).toEqual([`Hello ${"😀".repeat(74)}`]);
  const { messages } = await readPage(bot, "x", turn.sessionId);
  expect(sessions[0]).toMatchObject({ id: turn.sessionId, startedAt: messages[0]?.createdAt });
  expect(sessions[0]?.lastActivityAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/);
});

test("a visitor has a history of each bot, and the same id in another workspace another one", async () => {
  const bot = await createBot(system.database);
  const second = await createBot(system.database, { workspaceId: bot.workspaceId, slug: "second" });
  const foreign = await createBot(system.database);
  const sessionId = randomUUID();
  const other = newTurn(second, verified("x"));
  await runTurn(system.database, newTurn(bot, { sessionId, message: "own", ...verified("x") }));
  await runTurn(system.database, other);
  // The same session id in another workspace is another session.
  await runTurn(system.database, newTurn(foreign, { sessionId, message: "foreign", ...verified("x") }));
  expect(await listIds(bot, "x")).toEqual([sessionId]);
  expect(await listIds(second, "x")).toEqual([other.sessionId]);
  expect((await listPage(foreign, "x")).sessions).toMatchObject([{ id: sessionId, title: "foreign" }]);
  expect((await readPage(bot, "x", sessionId)).messages).toMatchObject([{ content: "own" }, {}]);
  const missing = await rpcFailure(readPage(bot, "x", randomUUID()));
  expect(missing).toMatchObject({ code: "session_not_found" });
  expect(await rpcFailure(readPage(second, "x", sessionId))).toEqual(missing);
  expect(await rpcFailure(readPage(bot, "x", other.sessionId))).toEqual(missing);
});

test("ids are compared as strings, and a session that is only claimed has no history", async () => {
  const bot = await createBot(system.database);
  const owned = newTurn(bot, verified("x"));
  const guessed = newTurn(bot, claimed("x"));
  for (const turn of [owned, guessed, newTurn(bot)]) await runTurn(system.database, turn);
  expect(await listIds(bot, "x")).toEqual([owned.sessionId]);
  for (const visitorId of ["X", "x ", "x\u0301", "y"]) {
    expect(await listIds(bot, visitorId)).toEqual([]);
    expect(await rpcFailure(readPage(bot, visitorId, owned.sessionId))).toMatchObject({ code: "session_not_found" });
  }
  expect(await rpcFailure(readPage(bot, "x", guessed.sessionId))).toMatchObject({ code: "session_not_found" });
  const long = "😀".repeat(1_024);
  const ofLong = newTurn(bot, verified(long));
  await runTurn(system.database, ofLong);
  expect(await listIds(bot, long)).toEqual([ofLong.sessionId]);
});

test.each([
  ["nobody's messages before the first visitor are the visitor's", ["", "x"], ["1", "2"]],
  ["the claimed visitor's messages are the verified visitor's", ["x", "x"], ["1", "2"]],
  ["the history begins with the change from another visitor", ["y", "x"], ["2"]],
  ["nobody's messages before another visitor are not in it", ["", "y", "x"], ["3"]],
  ["it begins with the visitor's return", ["x", "y", "x"], ["3"]],
])("%s", async (_, visitors, history) => {
  const bot = await createBot(system.database);
  const sessionId = randomUUID();
  for (const [at, visitorId] of visitors.entries())
    await runTurn(system.database, newTurn(bot, { sessionId, message: String(at + 1), ...claimed(visitorId) }), {
      content: `re: ${at + 1}`,
    });
  const last = String(visitors.length + 1);
  await runTurn(system.database, newTurn(bot, { sessionId, message: last, ...verified("x") }), {
    content: `re: ${last}`,
  });
  const expected = [...history, last].flatMap((message) => [message, `re: ${message}`]);
  const { messages, nextBefore } = await readPage(bot, "x", sessionId);
  expect([messages.map(({ content }) => content), nextBefore]).toEqual([expected, 0n]);
  expect((await listPage(bot, "x")).sessions).toMatchObject([{ title: history[0] }]);
  expect(await listIds(bot, "y")).toEqual([]);
});

test("what was deleted or erased is gone", async () => {
  const bot = await createBot(system.database);
  const { workspaceId } = bot;
  const [kept, deleted, erased] = [
    newTurn(bot, verified("x")),
    newTurn(bot, verified("x")),
    newTurn(bot, verified("x")),
  ];
  for (const turn of [kept, deleted, erased]) await runTurn(system.database, turn);
  await deleteSession(system.database, workspaceId, deleted.sessionId);
  await eraseSession(system.database, workspaceId, erased.sessionId);
  expect(await listIds(bot, "x")).toEqual([kept.sessionId]);
  for (const { sessionId } of [deleted, erased])
    expect(await rpcFailure(readPage(bot, "x", sessionId))).toMatchObject({ code: "session_not_found" });
});

test.each<[Outcome, TurnOutcome, string]>([
  ["done", TurnOutcome.DONE, ""],
  ["error", TurnOutcome.ERROR, "provider_timeout"],
  ["blocked", TurnOutcome.BLOCKED, ""],
  ["quota_exceeded", TurnOutcome.QUOTA_EXCEEDED, ""],
  ["cancelled", TurnOutcome.CANCELLED, ""],
])("a reply with the outcome %s has its stored text and code", async (outcome, proto, errorCode) => {
  const bot = await createBot(system.database);
  const turn = newTurn(bot, { ...verified("x"), message: "1" });
  const id = await runTurn(system.database, turn, { outcome, errorCode, content: "part" });
  const { messages } = await readPage(bot, "x", turn.sessionId);
  expect(messages).toMatchObject([
    { id: BigInt(id - 1), isReply: false, content: "1", outcome: TurnOutcome.UNSPECIFIED, errorCode: "", rating: "" },
    { id: BigInt(id), isReply: true, content: "part", outcome: proto, errorCode, rating: "" },
  ]);
});

test("a running reply has no outcome and no text", async () => {
  const bot = await createBot(system.database);
  const turn = newTurn(bot, verified("x"));
  await openTurn(system.database, turn);
  const { messages } = await readPage(bot, "x", turn.sessionId);
  expect(messages).toMatchObject([{ content: turn.message }, { content: "", outcome: TurnOutcome.UNSPECIFIED }]);
  const { sessions } = await listPage(bot, "x");
  expect(sessions.map(({ id }) => id)).toEqual([turn.sessionId]);
  const [{ startedAt = "", lastActivityAt = "" } = {}] = sessions;
  expect(lastActivityAt >= startedAt).toBe(true);
});

test("the messages of a long session come in pages of 25 turns, the newest first", async () => {
  const bot = await createBot(system.database);
  const [sessionId = ""] = await insertOwned(bot, "x", { sessions: 1, turns: 60 });
  const ids = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => String(from + n));
  expect(await readAllMessages(bot, "x", sessionId)).toEqual([ids(71, 120), ids(21, 70), ids(1, 20)]);
  const { messages, nextBefore } = await readPage(bot, "x", sessionId, 1n);
  expect([messages, nextBefore]).toEqual([[], 0n]);
});

test("a page of long replies ends with the turn that exceeds 128 Ki characters, and splits no turn", async () => {
  const bot = await createBot(system.database);
  const [sessionId = ""] = await insertOwned(bot, "x", { sessions: 1, turns: 5, content: "x".repeat(40 * 1024) });
  expect(await readAllMessages(bot, "x", sessionId)).toEqual([
    ["7", "8", "9", "10"],
    ["3", "4", "5", "6"],
    ["1", "2"],
  ]);
});

test.each([
  ["workspace_id", { workspaceId: "a b" }],
  ["bot_id", { botId: "x" }],
  ["visitor_id", { visitorId: "" }],
  ["visitor_id", { visitorId: "a\0" }],
  ["visitor_id", { visitorId: "x".repeat(1_025) }],
])("both calls refuse an invalid %s", async (field, fields) => {
  const request = { workspaceId: "ws", botId: randomUUID(), visitorId: "x", ...fields };
  const refused = { code: "invalid_argument", message: expect.stringContaining(field) };
  expect(await rpcFailure(system.conversation.listVisitorSessions(request, OPTIONS))).toMatchObject(refused);
  const session = { ...request, sessionId: randomUUID() };
  expect(await rpcFailure(system.conversation.listVisitorMessages(session, OPTIONS))).toMatchObject(refused);
});

test("an invalid page token, session id or message id is refused", async () => {
  const bot = await createBot(system.database);
  const refused = { code: "invalid_argument" };
  for (const token of ["x", `1.${randomUUID()}x`, `99999999999999999.${randomUUID()}`, "\0"])
    expect(await rpcFailure(listPage(bot, "x", token))).toMatchObject(refused);
  expect(await rpcFailure(readPage(bot, "x", "x"))).toMatchObject(refused);
  expect(await rpcFailure(readPage(bot, "x", randomUUID(), -1n))).toMatchObject(refused);
});
