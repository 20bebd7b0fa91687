import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { renewEdge } from "../sweeping/edge-leases.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, edgeFields, newClosing, newTurn, runTurn } from "../testing/turns.ts";
import { closeTurn, findTurnResult } from "../turns/close-turn.store.ts";
import { findOpenedTurn, openTurn } from "../turns/open-turn.store.ts";
import { eraseSession } from "./erase-session.store.ts";
import { exportSession } from "./export-session.store.ts";
import { deleteSession } from "./sessions.store.ts";

let db: TestDatabase;
let bot: Bot;
beforeAll(async () => {
  db = await createTestDatabase();
  bot = await createBot(db.database);
});
afterAll(() => db.drop());

/** Returns the columns that contain a text, as "table.column" in alphabetical order. */
async function columnsWith(marker: string): Promise<string[]> {
  const { rows: tables } = await db.admin.query(
    "SELECT relname FROM pg_class WHERE relnamespace = 'conversation'::regnamespace AND relkind = 'r'",
  );
  const found: string[] = [];
  for (const { relname } of tables) {
    const { rows: columns } = await db.admin.query(
      `SELECT DISTINCT key FROM conversation.${relname} t, jsonb_each(to_jsonb(t)) WHERE value::text ILIKE $1`,
      [`%${marker}%`],
    );
    found.push(...columns.map(({ key }) => `${relname}.${key}`));
  }
  return found.sort((a, b) => (a < b ? -1 : 1));
}

/** The columns in which createMarkedSession stores its marker. */
const CONTENT_COLUMNS = [
  "messages.content",
  "messages.error_message",
  "messages.tools_called",
  "sessions.consent_version",
  "sessions.referrer",
  "sessions.user_agent",
  "sessions.visitor_id",
  "sessions.visitor_metadata",
  "turns.blocked_reason",
  "turns.ending",
  "turns.error_code",
  "turns.key_hash",
  "turns.phases",
  "turns.request_hash",
];

/** Returns hexadecimal digits, so that columnsWith also finds a hash that starts with the bytes of the marker. */
const newMarker = () => randomBytes(16).toString("hex");

async function createMarkedSession(marker: string) {
  const sessionId = randomUUID();
  const visitor = {
    visitorId: marker,
    visitorMetadata: JSON.stringify({ marker }),
    referrer: marker,
    userAgent: marker,
    consentVersion: marker,
  };
  const markedHash = () => Buffer.concat([Buffer.from(marker, "hex"), randomBytes(16)]);
  const turn = (overrides = {}) =>
    newTurn(bot, {
      sessionId,
      message: marker,
      ...visitor,
      keyHash: markedHash(),
      requestHash: markedHash(),
      ...overrides,
    });
  const phases = [{ name: marker, microseconds: 1 }];
  const toolsCalled = [{ name: "order", arguments: { of: marker }, status: "done" as const, latency_ms: 1 }];
  await runTurn(db.database, turn(), { content: marker, phases, toolsCalled });
  const quota = { plan: marker, used: 10, cap: 10 };
  await runTurn(db.database, turn(), { outcome: "error", content: marker, errorCode: marker, phases, quota });
  await openTurn(db.database, turn({ blocked: { reason: marker, fallback: marker } }));
  const streaming = turn();
  await openTurn(db.database, streaming);
  return { sessionId, streaming };
}

test("eraseSession removes a session's content from every table and keeps the rows of its turns", async () => {
  const marker = newMarker();
  const { sessionId } = await createMarkedSession(marker);
  expect(await columnsWith(marker)).toEqual(CONTENT_COLUMNS);
  await eraseSession(db.database, bot.workspaceId, sessionId);
  expect(await columnsWith(marker)).toEqual([]);
  const { rows } = await db.admin.query(
    "SELECT status, month::text FROM conversation.turns WHERE session_id = $1 ORDER BY turn_id",
    [sessionId],
  );
  expect(new Set(rows.map((row) => row.status))).toEqual(new Set(["done", "error", "blocked", "cancelled"]));
  expect(rows.find((row) => row.status === "done")?.month).toBe("2026-11-01");
});

test("eraseSession closes open turns and settles them as void, and a later CloseTurn stores no content", async () => {
  const marker = newMarker();
  const { sessionId, streaming } = await createMarkedSession(marker);
  const closed = await eraseSession(db.database, bot.workspaceId, sessionId);
  expect(closed).toMatchObject([{ turnId: streaming.turnId, outcome: "void" }]);
  expect(await closeTurn(db.database, newClosing(streaming, { content: marker }))).toBeUndefined();
  expect(await findTurnResult(db.database, bot.workspaceId, streaming.turnId)).toMatchObject({ status: "cancelled" });
  expect(await columnsWith(marker)).toEqual([]);
});

test("an erased session cannot be continued, exported, deleted or erased again, and findOpenedTurn does not find its turns", async () => {
  const { sessionId, streaming } = await createMarkedSession(newMarker());
  await eraseSession(db.database, bot.workspaceId, sessionId);
  expect(await openTurn(db.database, newTurn(bot, { sessionId }))).toBeUndefined();
  expect(await findOpenedTurn(db.database, bot.workspaceId, streaming.turnId)).toBeUndefined();
  expect(await exportSession(db.database, bot.workspaceId, sessionId).next()).toMatchObject({ done: true });
  expect(await deleteSession(db.database, bot.workspaceId, sessionId)).toBe(false);
  expect(await eraseSession(db.database, bot.workspaceId, sessionId)).toBeUndefined();
});

test("eraseSession erases a deleted session, but no session of another workspace", async () => {
  const otherBot = await createBot(db.database);
  const { sessionId } = await createMarkedSession(newMarker());
  expect(await eraseSession(db.database, otherBot.workspaceId, sessionId)).toBeUndefined();
  expect(await deleteSession(db.database, otherBot.workspaceId, sessionId)).toBe(false);
  expect(await deleteSession(db.database, bot.workspaceId, sessionId)).toBe(true);
  expect(await deleteSession(db.database, bot.workspaceId, sessionId)).toBe(false);
  expect(await eraseSession(db.database, bot.workspaceId, sessionId)).toHaveLength(1);
});

test("eraseSession keeps no content and settles every turn once when turns open and close concurrently", async () => {
  for (let round = 0; round < 5; round++) {
    const marker = newMarker();
    const sessionId = randomUUID();
    const turns = Array.from({ length: 30 }, () => newTurn(bot, { sessionId, message: marker, visitorId: marker }));
    await Promise.all(turns.slice(0, 10).map((turn) => openTurn(db.database, turn)));
    await Promise.all([
      ...turns.slice(10).map(async (turn) => {
        if (await openTurn(db.database, turn)) await closeTurn(db.database, newClosing(turn, { content: marker }));
      }),
      ...turns.slice(0, 10).map((turn) => closeTurn(db.database, newClosing(turn, { content: marker }))),
      eraseSession(db.database, bot.workspaceId, sessionId),
    ]);
    expect(await columnsWith(marker)).toEqual([]);
    const { rows } = await db.admin.query(
      `SELECT count(*) FILTER (WHERE t.status = 'streaming') AS open, count(*) AS turns, count(o.turn_id) AS settlements,
              count(*) FILTER (WHERE (t.status = 'done') <> (o.outcome = 'done')) AS differences
       FROM conversation.turns t LEFT JOIN conversation.outbox o USING (workspace_id, turn_id) WHERE t.session_id = $1`,
      [sessionId],
    );
    expect(rows[0]).toMatchObject({ open: 0, differences: 0 });
    expect(rows[0].settlements).toBe(rows[0].turns);
  }
});

test("renewEdge returns the edge's turns that eraseSession has closed", async () => {
  const running = newTurn(bot);
  await openTurn(db.database, running);
  const edge = edgeFields(running.edgeId);
  expect(await renewEdge(db.database, edge, 30)).toEqual([]);
  await eraseSession(db.database, bot.workspaceId, running.sessionId);
  const { workspaceId, turnId } = running;
  expect(await renewEdge(db.database, edge, 30)).toEqual([{ workspaceId, turnId }]);
});
