import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  ExportFormat,
  type ExportSessionsRequest,
  ExportSessionsRequestSchema,
  SessionAdminService,
} from "@parley/rpc/conversation";
import { FairQueue, NIL_UUID } from "@parley/service-kit";
import { beforeAll, expect, test, vi } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { ExportPacer } from "../sessions/index.ts";
import { insertSessions } from "../testing/sessions.ts";
import { useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { handleExportSessions } from "./export-sessions.rpc.ts";
import { readSessions } from "./export-sessions.store.ts";

const system = useTestSystem();
let bot: Bot;
let ids: string[];
beforeAll(async () => {
  bot = await createBot(system.database);
  const small = await insertSessions(system.admin, bot, { sessions: 300 });
  const medium = await insertSessions(system.admin, bot, { sessions: 20, turns: 20, content: "=1+1" });
  const large = await insertSessions(system.admin, bot, { sessions: 2, turns: 100, content: 'a "quoted",\r\nline' });
  const all = [...small, ...medium, ...large].toSorted(() => Math.random() - 0.5);
  // Groups of three sessions have the same start.
  await system.admin.query(
    `UPDATE conversation.sessions s SET started_at = timestamptz '2026-01-01Z' + (number / 3) * interval '1 microsecond'
     FROM unnest($1::uuid[]) WITH ORDINALITY AS o (id, number) WHERE s.session_id = o.id`,
    [all],
  );
  const { rows } = await system.admin.query(
    "SELECT session_id AS id FROM conversation.sessions WHERE workspace_id = $1 ORDER BY started_at, session_id",
    [bot.workspaceId],
  );
  ids = rows.map((row) => row.id);
});

type Request = Parameters<typeof system.sessions.exportSessions>[0];

const stream = (request: Request = {}, signal = new AbortController().signal) =>
  system.sessions.exportSessions(
    { workspaceId: bot.workspaceId, format: ExportFormat.NDJSON, ...request },
    { timeoutMs: 60_000, signal },
  );

async function collect(request: Request = {}) {
  const pieces: Uint8Array[] = [];
  for await (const { content } of stream(request)) pieces.push(content);
  return { pieces, text: Buffer.concat(pieces).toString() };
}

/** Reads the first `count` bytes of an export, then cancels it. */
async function collectBytes(request: Request, count: number): Promise<string> {
  const cancellation = new AbortController();
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const { content } of stream(request, cancellation.signal)) {
    pieces.push(content);
    length += content.length;
    if (length >= count) break;
  }
  cancellation.abort();
  return Buffer.concat(pieces).subarray(0, count).toString();
}

/** Ignores an incomplete last line. */
const linesOf = (text: string) =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));

/** Parses RFC 4180 CSV. `rest` is the text of an incomplete last row. */
function rowsOf(text: string): { rows: string[][]; rest: string } {
  const rows: string[][] = [];
  let row: string[] = [];
  let start = 0;
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  for (let match = cell.exec(text); match; match = cell.exec(text)) {
    row.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "");
    if (match[3] === ",") continue;
    rows.push(row);
    row = [];
    start = cell.lastIndex;
  }
  return { rows, rest: text.slice(start) };
}

async function transcriptOf(sessionId: string, workspaceId = bot.workspaceId) {
  const pieces: Uint8Array[] = [];
  const request = { workspaceId, sessionId };
  for await (const { json } of system.sessions.getTranscript(request, { timeoutMs: 30_000 })) pieces.push(json);
  return JSON.parse(Buffer.concat(pieces).toString());
}

/** Removes the reviews and the reasons of ratings, which the export of one session does not have. */
const OWNER_FIELDS = ["review", "finish_detail", "rating_reason", "rag_chunks_cited", "sources"];
const withoutOwnerFields = ({ session, messages }: ReturnType<typeof linesOf>[number]) => ({
  session: { ...session, contact_messages: undefined },
  messages: messages.map((message: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(message).filter(([name]) => !OWNER_FIELDS.includes(name))),
  ),
});

test("ExportSessions exports every session once, ordered by its start, in the format of GetTranscript", async () => {
  const { pieces, text } = await collect();
  const lines = linesOf(text);
  expect(lines.map((line) => line.session.id)).toEqual(ids);
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(128 * 1024 - 64);
  const large = lines.find((line) => line.messages.length === 200);
  for (const { cursor, ...line } of [lines[0], lines[150], lines.at(-1), large]) {
    expect(withoutOwnerFields(line)).toEqual(await transcriptOf(line.session.id));
    expect(cursor).toMatch(/^[\w.-]+$/);
  }
});

test("an export that is cut anywhere continues after its last complete line, without losing or repeating a line", async () => {
  const whole = (await collect()).text;
  for (let round = 0; round < 10; round++) {
    let kept = "";
    let last: ReturnType<typeof linesOf>[number];
    do {
      const bytes = 1 + Math.floor(Math.random() * 200_000);
      const part = await collectBytes({ cursor: last?.cursor }, bytes);
      kept += part.slice(0, part.lastIndexOf("\n") + 1);
      last = linesOf(kept).at(-1);
    } while (last?.session.id !== ids.at(-1));
    expect(linesWithPositions(kept)).toEqual(linesWithPositions(whole));
  }
});

/** Keeps only the position of each cursor: a cursor also contains the end of the time range, which differs between exports. */
const linesWithPositions = (text: string) =>
  linesOf(text).map(({ cursor, ...line }) => ({ ...line, position: cursor.split("-").slice(1) }));

test("a CSV export has one row per message, continues after any complete row, and contains no formula", async () => {
  const csv = { format: ExportFormat.CSV };
  const { rows: whole, rest } = rowsOf((await collect(csv)).text);
  expect(rest).toBe("");
  const [header = [], ...rows] = whole;
  expect(header.slice(0, 2).concat(header.slice(-2))).toEqual(["session_id", "bot_slug", "created_at", "cursor"]);
  expect(new Set(rows.map((row) => row.length))).toEqual(new Set([header.length]));
  const column = (name: string) => rows.map((row) => row[header.indexOf(name)]);
  expect(rows).toHaveLength(300 * 2 + 20 * 40 + 2 * 200);
  expect(new Set(column("content"))).toEqual(new Set(["Hello", "'=1+1", 'a "quoted",\r\nline']));
  expect([...new Set(column("session_id"))]).toEqual(ids);
  for (let round = 0; round < 10; round++) {
    const kept: string[][] = [];
    let cursor = "";
    while (kept.length < rows.length) {
      const part = rowsOf(await collectBytes({ ...csv, cursor }, 1 + Math.floor(Math.random() * 300_000)));
      kept.push(...(cursor === "" ? part.rows.slice(1) : part.rows));
      cursor = kept.at(-1)?.at(-1) ?? "";
    }
    const withoutCursor = (row: string[]) => row.slice(0, -1);
    expect(kept.map(withoutCursor)).toEqual(rows.map(withoutCursor));
  }
});

/** Exports all sessions with calls whose time limit is 0. Returns the session ids of each call. */
async function exportWithZeroTimeLimit({ workspaceId }: Bot): Promise<string[][]> {
  const { database } = system;
  const ownerReadPool = { database, limiter: new FairQueue({ maxActiveOfWorkspace: 1 }), pacer: new ExportPacer() };
  const { signal } = new AbortController();
  const calls: string[][] = [];
  let next: string | undefined = "";
  while (next !== undefined) {
    const fields: Request = { workspaceId, format: ExportFormat.NDJSON, cursor: next };
    const request: ExportSessionsRequest = create(ExportSessionsRequestSchema, fields);
    next = undefined;
    let text = "";
    for await (const { content, nextCursor } of handleExportSessions(ownerReadPool, request, signal, 0)) {
      text += Buffer.from(content ?? []).toString();
      next = nextCursor;
    }
    calls.push(linesOf(text).map((line) => line.session.id));
  }
  return calls;
}

test("a call that reaches its time limit ends after a line and returns the cursor for the next call", async () => {
  const calls = await exportWithZeroTimeLimit(bot);
  expect(calls.length).toBeGreaterThan(3);
  expect(calls.flat()).toEqual(ids);
});

test("if a call reaches its time limit in a session of more than 64 messages, it ends after that session, not after the page", async () => {
  const own = await createBot(system.database);
  const sessions = await insertSessions(system.admin, own, { sessions: 3, turns: 40 });
  expect(await exportWithZeroTimeLimit(own)).toEqual([...sessions.toReversed().map((id) => [id]), []]);
});

test("a page of small sessions has at most 2,000 messages, and the next page continues after it", async () => {
  const own = await createBot(system.database);
  const { workspaceId } = own;
  const sessions = (await insertSessions(system.admin, own, { sessions: 120, turns: 32 })).toReversed();
  const page = { startedAt: "-infinity", sessionId: NIL_UUID, isInclusive: true, until: "infinity", limit: 1_000 };
  const filters = create(ExportSessionsRequestSchema);
  const read = await readSessions(system.database, { ...page, workspaceId, filters });
  expect(read.map(({ id }) => id)).toEqual(sessions.slice(0, 31));

  const setVisitor = "UPDATE conversation.sessions SET visitor_id = 'v-1' WHERE session_id = ANY ($1)";
  await system.admin.query(setVisitor, [sessions.slice(80)]);
  const lines = linesOf((await collect({ workspaceId, visitorId: "v-1" })).text);
  expect(lines.map((line) => line.session.id)).toEqual(sessions.slice(80));
});

test("ExportSessions leaves out sessions that are younger than 60 s, of other bots or out of the time range, and a continued export keeps the end of its time range", async () => {
  const own = await createBot(system.database);
  const { workspaceId } = own;
  const other = await createBot(system.database, { workspaceId, slug: "other" });
  const [youngest, ...older] = await insertSessions(system.admin, own, { sessions: 5 });
  await system.admin.query(
    "UPDATE conversation.sessions SET started_at = now() - interval '50 seconds' WHERE session_id = $1",
    [youngest],
  );
  const [otherBotsSession] = await insertSessions(system.admin, other, { sessions: 1 });
  await runTurn(system.database, newTurn(own));
  const exported = async (request: Request) =>
    linesOf((await collect({ workspaceId, ...request })).text).map((line) => line.session.id);
  expect(await exported({ botSlug: own.slug })).toEqual(older.toReversed());
  expect(await exported({ botSlug: "other" })).toEqual([otherBotsSession]);
  expect(await exported({ botSlug: "none" })).toEqual([]);
  const { rows } = await system.admin.query(
    "SELECT (extract(epoch FROM started_at) * 1000000)::bigint AS at FROM conversation.sessions WHERE session_id = ANY ($1) ORDER BY 1",
    [older],
  );
  const [, since, until] = rows.map((row) => BigInt(row.at));
  const times = { sinceMicroseconds: since, untilMicroseconds: until, botSlug: own.slug };
  expect(await exported(times)).toEqual([older[2]]);

  const [first] = linesOf((await collect({ workspaceId, botSlug: own.slug, untilMicroseconds: until })).text);
  const rest = await exported({ botSlug: own.slug, cursor: first.cursor, untilMicroseconds: undefined });
  expect(rest).toEqual([older[2]]);
});

test("ExportSessions selects sessions by bot, source, visitor, rating and review, and continues with the same filters", async () => {
  const own = await createBot(system.database);
  const { workspaceId } = own;
  const [oldest = "", ...others] = (await insertSessions(system.admin, own, { sessions: 4, turns: 40 })).toReversed();
  const set = (sessionId: string | undefined, columns: string) =>
    system.admin.query(`UPDATE conversation.sessions SET ${columns} WHERE session_id = $1`, [sessionId]);
  await set(oldest, "source = 'playground', reviews_good = 2, reviews_bad = 1");
  await set(others[0], "visitor_id = 'v-1', ratings_up = 1, reviews_good = 1");
  await set(others[1], "visitor_id = 'v-1', ratings_up = 1, ratings_down = 1");
  const exported = async (request: Request) =>
    linesOf((await collect({ workspaceId, ...request })).text).map((line) => line.session.id);
  expect(await exported({ source: "playground" })).toEqual([oldest]);
  expect(await exported({ source: "widget" })).toEqual(others);
  expect(await exported({ visitorId: "v-1" })).toEqual(others.slice(0, 2));
  expect(await exported({ visitorId: "v" })).toEqual([]);
  expect(await exported({ rating: "up" })).toEqual([others[0]]);
  expect(await exported({ rating: "down" })).toEqual([others[1]]);
  expect(await exported({ review: "good" })).toEqual([others[0]]);
  expect(await exported({ review: "bad" })).toEqual([oldest]);
  expect(await exported({ visitorId: "v-1", rating: "down", source: "widget", botSlug: own.slug })).toEqual([
    others[1],
  ]);
  expect(await exported({ visitorId: "v-1", review: "bad" })).toEqual([]);
  const [first] = linesOf((await collect({ workspaceId, visitorId: "v-1" })).text);
  expect(await exported({ visitorId: "v-1", cursor: first.cursor })).toEqual([others[1]]);
});

test.each([1, 40])("NDJSON and CSV exports of a session with %i turns have each message's review", async (turns) => {
  const own = await createBot(system.database);
  const { workspaceId } = own;
  const [sessionId = ""] = await insertSessions(system.admin, own, { sessions: 1, turns });
  const [line] = linesOf((await collect({ workspaceId })).text);
  const messageId = BigInt(line.messages[1].id);
  await system
    .createAdminClient(SessionAdminService)
    .reviewMessage({ workspaceId, sessionId, messageId, review: "bad" });
  const [reviewed] = linesOf((await collect({ workspaceId })).text);
  expect(reviewed.messages.map((message: { review: string }) => message.review)).toEqual(
    line.messages.map((_: unknown, index: number) => (index === 1 ? "bad" : "")),
  );
  const { rows } = rowsOf((await collect({ workspaceId, format: ExportFormat.CSV })).text);
  const column = rows[0]?.indexOf("review") ?? -1;
  expect(rows.slice(1, 3).map((row) => row[column])).toEqual(["", "bad"]);
  expect((await transcriptOf(sessionId, workspaceId)).messages[1]).not.toHaveProperty("review");
});

test("ExportSessions omits sessions that are deleted, erased or of other workspaces", async () => {
  const own = await createBot(system.database);
  const { workspaceId } = own;
  const [listed = "", deleted = "", erased = ""] = await insertSessions(system.admin, own, { sessions: 3 });
  await system.createAdminClient(SessionAdminService).deleteSession({ workspaceId, sessionId: deleted });
  await system.createAdminClient(SessionAdminService).eraseSession({ workspaceId, sessionId: erased });
  const lines = linesOf((await collect({ workspaceId })).text);
  expect(lines.map((line) => [line.session.id, line.messages.length])).toEqual([[listed, 2]]);
  expect((await collect({ workspaceId: `ws_${randomUUID()}` })).text).toBe("");
  expect((await collect({ workspaceId: "a b\0" })).text).toBe("");
});

test("after a page without a match, an export reads the next page without a pause", async () => {
  const pacer = new ExportPacer();
  let paced = 0;
  vi.spyOn(pacer, "pace").mockImplementation((run) => (statement) => {
    paced++;
    return run(statement);
  });
  const ownerReadPool = { database: system.database, limiter: new FairQueue({ maxActiveOfWorkspace: 1 }), pacer };
  const request = create(ExportSessionsRequestSchema, {
    workspaceId: bot.workspaceId,
    format: ExportFormat.NDJSON,
    visitorId: "nobody",
  });
  const pieces = [];
  for await (const piece of handleExportSessions(ownerReadPool, request, new AbortController().signal))
    pieces.push(piece);
  // Only two statements are paced: the one that reads the end of the time range, and the one that reads the first page.
  expect([pieces, paced]).toEqual([[], 2]);
});

test("clients that stop reading hold no database connection and delay no other export", async () => {
  const cancellation = new AbortController();
  const readers = Array.from({ length: 6 }, () => stream({}, cancellation.signal)[Symbol.asyncIterator]());
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
  const own = await createBot(system.database);
  await insertSessions(system.admin, own, { sessions: 20 });
  expect(linesOf((await collect({ workspaceId: own.workspaceId })).text)).toHaveLength(20);
  cancellation.abort();
});

test.each<[string, Request]>([
  ["format", { format: ExportFormat.UNSPECIFIED }],
  ["cursor", { cursor: "x" }],
  ["position", { cursor: "1-x" }],
  ["time", { sinceMicroseconds: -1n }],
  ["source", { source: "email" }],
  ["rating", { rating: "good" }],
  ["review", { review: "up" }],
  ["visitor_id", { visitorId: "\0" }],
  ["bot_slug", { botSlug: "\0" }],
])("ExportSessions refuses an invalid %s", async (word, request) => {
  await expect(collect(request)).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining(word),
  });
});
