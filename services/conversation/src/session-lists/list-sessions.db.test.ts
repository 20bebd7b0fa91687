import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { insertSessions } from "../testing/sessions.ts";
import { rpcFailure, useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { openTurn } from "../turns/open-turn.store.ts";

const system = useTestSystem();
let bot: Bot;
beforeAll(async () => {
  bot = await createBot(system.database);
});

type Filters = Parameters<typeof system.sessions.listSessions>[0];

const search = (filters: Filters = {}) =>
  system.sessions.listSessions({ workspaceId: bot.workspaceId, limit: 100, ...filters }, { timeoutMs: 20_000 });

/** Reads every page. Returns the ids in order, and the number of pages. */
async function searchAll(filters: Filters = {}) {
  const ids: string[] = [];
  let pages = 0;
  for (let pageToken = ""; pages === 0 || pageToken !== ""; pages++) {
    const page = await search({ ...filters, pageToken });
    expect(page.sessions.length).toBeLessThanOrEqual(filters?.limit ?? 100);
    ids.push(...page.sessions.map(({ id }) => id));
    pageToken = page.nextPageToken;
  }
  return { ids, pages };
}

test("ListSessions returns every field of a session, and does not count the messages of a streaming turn", async () => {
  const ownBot = await createBot(system.database);
  const verified = { visitorId: "v1", visitorVerified: true };
  const visitor = {
    ...verified,
    visitorMetadata: '{"plan":"pro"}',
    referrer: "https://a.example/",
    userAgent: "UA",
  };
  const turn = newTurn(ownBot, visitor);
  const messageId = await runTurn(system.database, turn);
  await openTurn(system.database, newTurn(ownBot, { sessionId: turn.sessionId, ...verified }));
  await system.conversation.rateMessage(
    {
      ...verified,
      workspaceId: ownBot.workspaceId,
      botId: ownBot.id,
      sessionId: turn.sessionId,
      messageId: BigInt(messageId),
      rating: "down",
    },
    { timeoutMs: 5_000 },
  );
  const { sessions, nextPageToken } = await search({ workspaceId: ownBot.workspaceId });
  const anyTimestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/);
  expect(nextPageToken).toBe("");
  expect(sessions).toMatchObject([
    {
      id: turn.sessionId,
      botSlug: ownBot.slug,
      source: "widget",
      ...visitor,
      visitorMetadata: '{"plan": "pro"}',
      startedAt: anyTimestamp,
      lastActivityAt: anyTimestamp,
      messageCount: 2,
      rating: "down",
      excerpt: turn.message,
    },
  ]);
});

test("a session's excerpt is the beginning of its first message, or the surroundings of the text that was searched for", async () => {
  const ownBot = await createBot(system.database);
  const { workspaceId } = ownBot;
  const turn = newTurn(ownBot, { message: `Good morning. ${"😀".repeat(200)}` });
  await runTurn(system.database, turn, {
    content: `${"word ".repeat(30)}The PARCEL is on its way.${" more".repeat(60)}`,
  });
  const excerptOf = async (text: string) =>
    (await search({ workspaceId, text })).sessions.map(({ excerpt }) => excerpt);
  expect(await excerptOf("")).toEqual([`Good morning. ${"😀".repeat(146)}`]);
  expect(await excerptOf("morning")).toEqual([`Good morning. ${"😀".repeat(146)}`]);
  const [excerpt = ""] = await excerptOf("parcel");
  expect(excerpt).toHaveLength(160);
  expect(excerpt.indexOf("PARCEL")).toBe(40);
  expect(await excerptOf("letter")).toEqual([]);
});

test("ListSessions pages through all sessions, newest activity first, even if many have the same time", async () => {
  const ownBot = await createBot(system.database);
  const ids = await insertSessions(system.admin, ownBot, { sessions: 60 });
  await system.admin.query(
    "UPDATE conversation.sessions SET last_activity_at = '2026-11-01Z' WHERE session_id = ANY ($1)",
    [ids.slice(30)],
  );
  const { ids: listed, pages } = await searchAll({ workspaceId: ownBot.workspaceId, limit: 7 });
  expect(listed).toHaveLength(60);
  expect(new Set(listed)).toEqual(new Set(ids));
  expect(listed.slice(0, 30)).toEqual(ids.slice(0, 30));
  expect(pages).toBe(9);
});

test("ListSessions applies every filter, alone and together", async () => {
  const ownBot = await createBot(system.database);
  const { workspaceId } = ownBot;
  const otherBot = await createBot(system.database, { workspaceId, slug: "other-bot" });
  const ids = await insertSessions(system.admin, ownBot, { sessions: 8 });
  const [otherSessionId = ""] = await insertSessions(system.admin, otherBot, { sessions: 1 });
  const set = (columns: string, ...indexes: number[]) =>
    system.admin.query(`UPDATE conversation.sessions SET ${columns} WHERE session_id = ANY ($1)`, [
      indexes.map((index) => ids[index]),
    ]);
  await set("source = 'playground'", 1, 3);
  await set("ratings_up = 1", 2, 3);
  await set("ratings_up = 1, ratings_down = 2", 4);
  await set("visitor_id = 'v'", 3, 5, 6);
  await set(`visitor_id = '${"ü".repeat(1_024)}'`, 7);
  await set("deleted_at = now()", 6);
  const findIds = async (filters: Filters) => (await searchAll({ workspaceId, ...filters })).ids;
  const idsAt = (...indexes: number[]) => indexes.map((index) => ids[index]);
  expect(await findIds({ source: "playground" })).toEqual(idsAt(1, 3));
  expect(await findIds({ source: "widget", botSlug: ownBot.slug })).toEqual(idsAt(0, 2, 4, 5, 7));
  expect(await findIds({ rating: "up" })).toEqual(idsAt(2, 3));
  expect(await findIds({ rating: "down" })).toEqual(idsAt(4));
  expect(await findIds({ visitorId: "v" })).toEqual(idsAt(3, 5));
  expect(await findIds({ visitorId: "ü".repeat(1_024) })).toEqual(idsAt(7));
  expect(await findIds({ visitorId: "V" })).toEqual([]);
  expect(await findIds({ visitorId: "v", source: "playground", rating: "up", botSlug: ownBot.slug })).toEqual(idsAt(3));
  expect(await findIds({ botSlug: "other-bot" })).toEqual([otherSessionId]);
  expect(await findIds({ botSlug: "no-such-bot" })).toEqual([]);
  const { rows } = await system.admin.query(
    "SELECT (extract(epoch FROM last_activity_at) * 1000000)::bigint AS at FROM conversation.sessions WHERE session_id = ANY ($1) ORDER BY 1 DESC",
    [idsAt(2, 4)],
  );
  const [until, since] = rows.map((row) => BigInt(row.at));
  expect(await findIds({ botSlug: ownBot.slug, sinceMicroseconds: since, untilMicroseconds: until })).toEqual(
    idsAt(3, 4),
  );
});

test("a search reads at most 2,000 of a visitor's sessions per page, even if few of these sessions match the other filter", async () => {
  const ownBot = await createBot(system.database);
  const { workspaceId } = ownBot;
  const ids = await insertSessions(system.admin, ownBot, { sessions: 4_500 });
  await system.admin.query(
    "UPDATE conversation.sessions SET visitor_id = 'v', source = 'playground' WHERE session_id = ANY ($1)",
    [[ids[10], ids[3_999], ids[4_499]]],
  );
  await system.admin.query("UPDATE conversation.sessions SET visitor_id = 'v' WHERE session_id = ANY ($1)", [
    ids.slice(11, 3_999),
  ]);
  const first = await search({ workspaceId, visitorId: "v", source: "playground" });
  expect(first.sessions.map(({ id }) => id)).toEqual([ids[10]]);
  expect(first.nextPageToken).not.toBe("");
  expect(await searchAll({ workspaceId, visitorId: "v", source: "playground" })).toEqual({
    ids: [ids[10], ids[3_999], ids[4_499]],
    pages: 2,
  });
});

test("a text search reads at most 2,000 messages per page, and the next page continues within a long session", async () => {
  const ownBot = await createBot(system.database);
  const { workspaceId } = ownBot;
  const longSessionIds = await insertSessions(system.admin, ownBot, { sessions: 1, turns: 2_600 });
  const shortSessionIds = await insertSessions(system.admin, ownBot, { sessions: 700, turns: 2 });
  await system.admin.query("UPDATE conversation.sessions SET last_activity_at = now() WHERE session_id = $1", [
    longSessionIds[0],
  ]);
  const setContent = (sessionId: string | undefined, offset: number) =>
    system.admin.query(
      `UPDATE conversation.messages SET content = 'Where is my REFÜND_50%?' WHERE workspace_id = $1 AND session_id = $2 AND message_id = (
         SELECT message_id FROM conversation.messages WHERE workspace_id = $1 AND session_id = $2 ORDER BY message_id OFFSET $3 LIMIT 1)`,
      [workspaceId, sessionId, offset],
    );
  await setContent(longSessionIds[0], 5_150);
  await setContent(shortSessionIds[3], 0);
  await setContent(shortSessionIds[699], 3);
  const text = "refünd_50%";
  const first = await search({ workspaceId, text });
  expect(first.sessions).toEqual([]);
  expect(first.nextPageToken).not.toBe("");
  // A page reads 2,000 messages. The long session's 5,200 messages take three pages, and the short sessions' 2,800 take two more: the third page
  // reads no short session, because a page that continues a session reads only that session.
  expect(await searchAll({ workspaceId, text })).toEqual({
    ids: [longSessionIds[0], shortSessionIds[3], shortSessionIds[699]],
    pages: 5,
  });
  expect((await searchAll({ workspaceId, text, limit: 1 })).ids).toEqual([
    longSessionIds[0],
    shortSessionIds[3],
    shortSessionIds[699],
  ]);
  expect((await searchAll({ workspaceId, text: "refund" })).ids).toEqual([]);
});

test("ListSessions returns no session of another workspace, and no deleted or erased session", async () => {
  const foreignBot = await createBot(system.database);
  const [kept = "", deleted = "", erased = ""] = await insertSessions(system.admin, foreignBot, { sessions: 3 });
  await system.admin.query("UPDATE conversation.sessions SET deleted_at = now() WHERE session_id = $1", [deleted]);
  await system.admin.query("UPDATE conversation.sessions SET erased_at = now() WHERE session_id = $1", [erased]);
  expect((await searchAll({ workspaceId: foreignBot.workspaceId })).ids).toEqual([kept]);
  expect((await searchAll({ workspaceId: foreignBot.workspaceId, text: "hello" })).ids).toEqual([kept]);
  const { ids } = await searchAll();
  expect(ids).not.toContain(kept);
  expect((await searchAll({ botSlug: foreignBot.slug })).ids).toEqual([]);
  expect(await search({ workspaceId: "no such workspace\0" })).toMatchObject({ sessions: [], nextPageToken: "" });
});

test.each<[string, Filters]>([
  ["limit", { limit: -1 }],
  ["limit", { limit: 101 }],
  ["source", { source: "email" }],
  ["rating", { rating: "sideways" }],
  ["text", { text: "x".repeat(201) }],
  ["text", { text: "\0" }],
  ["visitor_id", { visitorId: "\0" }],
  ["time", { sinceMicroseconds: -1n }],
  ["time", { untilMicroseconds: 2n ** 62n }],
  ["position", { pageToken: "x" }],
  ["position", { pageToken: `99999999999999999.${randomUUID()}` }],
])("ListSessions refuses an invalid %s", async (word, filters) => {
  expect(await rpcFailure(search(filters))).toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining(word),
  });
});
