import { randomUUID } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";
import { ExportFormat } from "@parley/rpc/conversation";
import { PromptSchema } from "@parley/rpc/llm";
import { beforeAll, describe, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { useTestSystem } from "../testing/system.ts";
import { createBot, newClosing, newOpenRequest, newTurn, runTurn } from "../testing/turns.ts";
import { closeTurn } from "../turns/close-turn.store.ts";
import { findOpenedTurn, openTurn } from "../turns/open-turn.store.ts";
import { eraseSession } from "./erase-session.store.ts";

const system = useTestSystem();
let bot: Bot;
beforeAll(async () => {
  bot = await createBot(system.database);
});

const rowsOf = async (sql: string, ...values: unknown[]) => (await system.admin.query(sql, values)).rows;

/** Starts a session. Returns a function that runs one turn of it and returns the earlier messages in the turn's prompt. */
function startSession({ source = "widget", ofBot = bot } = {}) {
  const sessionId = randomUUID();
  const say = async (visitorId: string, message: string, visitorMetadata = "") => {
    const request = newOpenRequest(ofBot, { sessionId, source, visitorId, message, visitorMetadata });
    const { prompt } = await system.conversation.openTurn(request, { timeoutMs: 10_000 });
    await closeTurn(system.database, newClosing(request, { content: `re: ${message}` }));
    const { messages } = fromBinary(PromptSchema, prompt);
    return messages.slice(0, -1).map(({ content }) => content);
  };
  return { sessionId, say };
}

const sessionRow = async (sessionId: string) =>
  (await rowsOf("SELECT * FROM conversation.sessions WHERE session_id = $1", sessionId))[0];

async function searchIds(visitorId: string, workspaceId = bot.workspaceId) {
  const { sessions } = await system.sessions.listSessions(
    { workspaceId, limit: 100, visitorId },
    { timeoutMs: 10_000 },
  );
  return sessions.map(({ id }) => id);
}

async function exportIds(visitorId: string) {
  let text = "";
  const request = { workspaceId: bot.workspaceId, format: ExportFormat.NDJSON, visitorId };
  for await (const { content } of system.sessions.exportSessions(request, { timeoutMs: 10_000 }))
    text += Buffer.from(content).toString();
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line).session.id);
}

const erase = async (visitorId: string, workspaceId = bot.workspaceId) => {
  const request = { workspaceId, visitorId, requestId: randomUUID() };
  return Number((await system.sessions.eraseVisitor(request, { timeoutMs: 10_000 })).sessions);
};

describe("the prompt of a turn", () => {
  test.each([
    ["nobody's session becomes the visitor's", ["", "x"], ["1", "re: 1"]],
    ["a session continues for a request without an id", ["x", ""], ["1", "re: 1"]],
    ["a session continues for its visitor", ["x", "x"], ["1", "re: 1"]],
    ["the prompt begins with the new visitor's first message", ["x", "y"], []],
    ["the new visitor's prompt continues with their messages", ["x", "y", "y"], ["2", "re: 2"]],
    ["a request without an id continues the new visitor's prompt", ["x", "y", ""], ["2", "re: 2"]],
    ["nobody's messages before the first visitor are not in the second visitor's prompt", ["", "x", "y"], []],
    ["the first visitor's prompt begins again after the second one's messages", ["x", "y", "x"], []],
    ["the first visitor's prompt continues after the last change", ["x", "y", "x", "x"], ["3", "re: 3"]],
    ["ids are compared as strings: case", ["x", "X"], []],
    ["ids are compared as strings: white space", ["x", "x "], []],
    ["ids are compared as strings: a number's notation", ["1", "1.0"], []],
    ["ids are compared as strings: Unicode normalization", ["\u00e9", "e\u0301"], []],
    ["ids are compared whole: 1,024 characters", [`${"😀".repeat(1_023)}a`, `${"😀".repeat(1_023)}b`], []],
  ])("%s", async (_, visitors, history) => {
    const { say } = startSession();
    const prompts = [];
    for (const [at, visitor] of visitors.entries()) prompts.push(await say(visitor, String(at + 1)));
    expect(prompts.at(-1)).toEqual(history);
  });

  test("in the playground, members share the session's history", async () => {
    const { say, sessionId } = startSession({ source: "playground" });
    await say("member-1", "1", '{"a":1}');
    expect(await say("member-2", "2")).toEqual(["1", "re: 1"]);
    expect(await sessionRow(sessionId)).toMatchObject({ visitor_id: "member-2", visitor_metadata: { a: 1 } });
    expect((await searchIds("member-1")).includes(sessionId)).toBe(true);
  });

  test("a message that a pattern blocks also changes the visitor", async () => {
    const first = newTurn(bot, { visitorId: "x" });
    await runTurn(system.database, first);
    const { sessionId } = first;
    await openTurn(
      system.database,
      newTurn(bot, { sessionId, visitorId: "y", blocked: { reason: "r", fallback: "" } }),
    );
    expect((await openTurn(system.database, newTurn(bot, { sessionId })))?.history).toEqual([]);
  });

  test("a repeated OpenTurn returns the first call's history, even after the visitor has changed again", async () => {
    const { say, sessionId } = startSession();
    await say("x", "1");
    await say("y", "2");
    const turn = newTurn(bot, { sessionId, visitorId: "y", message: "3" });
    const opened = await openTurn(system.database, turn);
    await say("x", "4");
    expect(opened?.history).toEqual([{ message: "2", reply: "re: 2" }]);
    expect((await findOpenedTurn(system.database, bot.workspaceId, turn.turnId))?.history).toEqual(opened?.history);
  });
});

test("a change of the visitor replaces the metadata; without a change, a message without metadata keeps it", async () => {
  const { say, sessionId } = startSession();
  const metadata = async () => (await sessionRow(sessionId))?.visitor_metadata;
  await say("", "1", '{"anonymous":true}');
  await say("x", "2");
  expect(await metadata()).toEqual({ anonymous: true });
  await say("x", "3", '{"email":"x@a.example"}');
  await say("x", "4");
  await say("", "5");
  expect(await metadata()).toEqual({ email: "x@a.example" });
  await say("y", "6");
  expect(await metadata()).toEqual({});
  await say("x", "7", '{"plan":"gold"}');
  expect(await metadata()).toEqual({ plan: "gold" });
});

describe("a session that had several ids", () => {
  const idsOf = (count: number) => Array.from({ length: count }, () => `v-${randomUUID()}`);

  test("keeps the latest one, and is found once by each of them, in lists, exports and erasures", async () => {
    const [x = "", y = "", z = ""] = idsOf(3);
    const { say, sessionId } = startSession();
    for (const [at, visitor] of ["", x, y, x, y, "", z].entries()) await say(visitor, String(at));
    expect(await sessionRow(sessionId)).toMatchObject({ visitor_id: z });
    // An export contains no session that started within the last minute.
    await system.admin.query(
      "UPDATE conversation.sessions SET started_at = started_at - interval '2 minutes' WHERE session_id = $1",
      [sessionId],
    );
    for (const visitor of [x, y, z]) {
      expect(await searchIds(visitor)).toEqual([sessionId]);
      expect(await exportIds(visitor)).toEqual([sessionId]);
    }
    expect(await searchIds(x.toUpperCase())).toEqual([]);
    expect(await searchIds(x, "ws_other")).toEqual([]);
    expect(await erase(x, "ws_other")).toBe(0);
    expect(await erase(x)).toBe(1);
    await expect.poll(async () => (await sessionRow(sessionId))?.erased_at).not.toBeNull();
    const columns = { visitor_id: null, replaced_visitor: null, visitor_metadata: null };
    expect(await sessionRow(sessionId)).toMatchObject(columns);
    expect(await rowsOf("SELECT FROM conversation.messages WHERE session_id = $1", sessionId)).toEqual([]);
    expect(await rowsOf("SELECT FROM conversation.session_visitors WHERE session_id = $1", sessionId)).toEqual([]);
    for (const visitor of [x, y, z]) expect(await erase(visitor)).toBe(0);
  });

  test("is found by each id if concurrent turns, even first ones, bring different ids", async () => {
    const visitors = idsOf(20);
    const sessionId = randomUUID();
    const turns = visitors.map((visitorId) => newTurn(bot, { sessionId, visitorId, message: visitorId }));
    const opened = await Promise.all(turns.map((turn) => openTurn(system.database, turn)));
    for (const turn of turns) await closeTurn(system.database, newClosing(turn));
    expect(opened.map((turn) => turn?.history)).toEqual(turns.map(() => []));
    for (const visitor of visitors) expect(await searchIds(visitor)).toEqual([sessionId]);
    for (const visitor of visitors.slice(1)) expect(await erase(visitor)).toBeLessThanOrEqual(1);
  });

  test("is listed by the visitor's last activity, page by page, and filtered by that time", async () => {
    const [guest = "", other = ""] = idsOf(2);
    const own = await createBot(system.database);
    const { workspaceId } = own;
    const sessions = Array.from({ length: 9 }, () => startSession({ ofBot: own }));
    for (const { say } of sessions) await say(guest, "1");
    // Every third session gets another id, and every other one of these gets the first id again.
    for (const [at, { say }] of sessions.entries()) if (at % 3 === 0) await say(`${other}${at}`, "2");
    for (const [at, { say }] of sessions.entries()) if (at % 6 === 0) await say(guest, "3");
    for (const [at, { say }] of sessions.entries()) if (at === 3) await say(`${other}${at}`, "4");
    const expected = [6, 0, 3, 8, 7, 5, 4, 2, 1].map((at) => sessions[at]?.sessionId);
    const found: string[] = [];
    for (let pageToken = "", pages = 0; pages === 0 || pageToken !== ""; pages++) {
      const request = { workspaceId, limit: 2, visitorId: guest, pageToken };
      const page = await system.sessions.listSessions(request, { timeoutMs: 10_000 });
      found.push(...page.sessions.map(({ id }) => id));
      pageToken = page.nextPageToken;
    }
    expect(found).toEqual(expected);
    const page = { workspaceId, limit: 100, visitorId: guest, source: "playground" };
    expect((await system.sessions.listSessions(page, { timeoutMs: 10_000 })).sessions).toEqual([]);
    const { replaced_at: replacedAt } =
      (
        await rowsOf(
          "SELECT (extract(epoch FROM replaced_at) * 1000000)::bigint AS replaced_at FROM conversation.session_visitors WHERE session_id = $1",
          sessions[3]?.sessionId,
        )
      )[0] ?? {};
    const since = { ...page, source: "", sinceMicroseconds: BigInt(replacedAt) };
    const inTime = await system.sessions.listSessions(since, { timeoutMs: 10_000 });
    expect(inTime.sessions.map(({ id }) => id)).toEqual(expected.slice(0, 3));
  });

  test("is erased in batches, among more sessions than one batch", async () => {
    const [guest = "", other = ""] = idsOf(2);
    const own = await createBot(system.database);
    const sessionIds = Array.from({ length: 120 }, () => randomUUID());
    for (const [at, sessionId] of sessionIds.entries()) {
      await runTurn(system.database, newTurn(own, { sessionId, visitorId: guest }));
      if (at % 2 === 0) await runTurn(system.database, newTurn(own, { sessionId, visitorId: other }));
    }
    const kept = newTurn(own, { visitorId: other });
    await runTurn(system.database, kept);
    expect(await erase(guest, own.workspaceId)).toBe(120);
    const left = async () =>
      new Set(
        (
          await rowsOf("SELECT session_id AS id FROM conversation.messages WHERE workspace_id = $1", own.workspaceId)
        ).map((row) => row.id),
      );
    await expect.poll(left, { timeout: 20_000 }).toEqual(new Set([kept.sessionId]));
  });

  test("loses its ids when its content is erased, for example because it expired", async () => {
    const [x = "", y = ""] = idsOf(2);
    const { say, sessionId } = startSession();
    await say(x, "1");
    await say(y, "2");
    await system.admin.query(
      `WITH replies AS (UPDATE conversation.messages SET closed_at = now() - interval '11 minutes' WHERE session_id = $1)
       UPDATE conversation.sessions SET last_activity_at = now() - interval '11 minutes' WHERE session_id = $1`,
      [sessionId],
    );
    expect(await eraseSession(system.database, bot.workspaceId, sessionId, 10)).toEqual([]);
    expect(await rowsOf("SELECT FROM conversation.session_visitors WHERE session_id = $1", sessionId)).toEqual([]);
    expect(await searchIds(x)).toEqual([]);
  });
});
