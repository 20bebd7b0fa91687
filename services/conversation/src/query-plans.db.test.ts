import { randomUUID } from "node:crypto";
import type { Database } from "@parley/service-kit";
import { statementsOf, tablesScanned } from "@parley/service-kit/testing";
import { fillHistory, quickOrFull } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { countDoneTurns, findOpenedTurns, listDoneTurns } from "./audit/audit.store.ts";
import { readBotConfig } from "./bots/bot-config.store.ts";
import { type Bot, findBot, findBotId } from "./bots/bots.store.ts";
import { resolveKey } from "./keys/keys.store.ts";
import { readPassages } from "./knowledge/knowledge-search.store.ts";
import { searchByWords } from "./knowledge/word-search.service.ts";
import { listExpired, listWorkspaceIds } from "./retention/retention.store.ts";
import { eraseSession } from "./sessions/erase-session.store.ts";
import { exportSession } from "./sessions/export-session.store.ts";
import { rateMessage } from "./sessions/messages.store.ts";
import { listSessions } from "./sessions/sessions.store.ts";
import { deleteSettled, measureOutbox, readOutbox } from "./settlement/outbox.store.ts";
import { renewEdge } from "./sweeping/edge-leases.store.ts";
import { sweep } from "./sweeping/sweep.store.ts";
import { createTestDatabase, type TestDatabase } from "./testing/database.ts";
import { readKnowledge } from "./testing/knowledge.ts";
import { closing, createBot, newTurn } from "./testing/turns.ts";
import { closeTurn, findTurnResult } from "./turns/close-turn.store.ts";
import { findTurn, openTurn } from "./turns/open-turn.store.ts";
import { findTurnRecord } from "./turns/turn-record.store.ts";

const MESSAGES = quickOrFull(200_000, 10_000_000);
const BOTS = 5_000;

let db: TestDatabase;
let bot: Bot;

/** Fills the tables like a busy installation's. `bot` is a bot of the largest workspace. */
beforeAll(async () => {
  db = await createTestDatabase();
  const { workspaceIds, turns, seconds } = await fillHistory(db.adminUrl, { messages: MESSAGES });
  console.info(`${turns} turns and ${2 * turns} messages inserted in ${Math.round(seconds)} s`);
  bot = (await findBot(db.database, workspaceIds[0] ?? "", "assistant")) ?? (await createBot(db.database));
  await db.admin.query(`
    INSERT INTO conversation.bots (workspace_id, bot_id, slug, model, system_prompt, fallback, display)
    SELECT 'many_' || n, gen_random_uuid(), 'bot', '', '', '', '{}' FROM generate_series(1, ${BOTS}) n;

    INSERT INTO conversation.api_keys (workspace_id, public_key, bot_id, allowed_domains)
    SELECT b.workspace_id, 'svc_pk_' || b.workspace_id, b.bot_id, '{example.com}' FROM conversation.bots b;

    INSERT INTO conversation.moderation_patterns (workspace_id, bot_id, pattern, reason, fallback)
    SELECT b.workspace_id, b.bot_id, 'p', 'r', '' FROM conversation.bots b;

    INSERT INTO conversation.tools (workspace_id, bot_id, name, definition)
    SELECT b.workspace_id, b.bot_id, 'look_up', '{}' FROM conversation.bots b;

    INSERT INTO conversation.knowledge_sources (workspace_id, bot_id, name, format, characters, chunks, updated_at)
    SELECT b.workspace_id, b.bot_id, 'source', 'md', 0, 0, now() FROM conversation.bots b;

    INSERT INTO conversation.knowledge_chunks (workspace_id, bot_id, source_id, position, heading, content)
    SELECT s.workspace_id, s.bot_id, s.source_id, n, '', 'refunds are paid within ' || n || ' days of every order'
    FROM conversation.knowledge_sources s, generate_series(1, 5) n;

    UPDATE conversation.knowledge_sources SET chunks = 5;

    INSERT INTO conversation.knowledge_words (workspace_id, bot_id, source_id, word, lexeme, chunks)
    SELECT s.workspace_id, s.bot_id, s.source_id, word, lexeme, 5
    FROM conversation.knowledge_sources s, (
      SELECT 'refunds', 'refund' UNION ALL SELECT 'paid', 'paid' UNION ALL SELECT 'w' || n || 'ord', 'w' || n || 'ord' FROM generate_series(1, 20) n
    ) words (word, lexeme);
  `);
  // A backlog in the outbox, as after a quota outage of an hour.
  await db.admin.query(`
    INSERT INTO conversation.outbox
    SELECT workspace_id, turn_id, 'void', NULL, now() FROM conversation.turns WHERE status <> 'streaming' LIMIT 20000
    ON CONFLICT DO NOTHING`);
  await db.admin.query("VACUUM (ANALYZE)");
}, 1_800_000);
afterAll(() => db.drop());

const lastMonth = () => new Date(Date.now() - 35 * 86_400_000).toISOString().slice(0, 7);

async function anyTurn(): Promise<{ workspaceId: string; turnId: string; sessionId: string; messageId: number }> {
  const { rows } = await db.admin.query(
    `SELECT workspace_id AS "workspaceId", turn_id AS "turnId", session_id AS "sessionId", message_id AS "messageId"
     FROM conversation.turns WHERE workspace_id = $1 AND status = 'done' LIMIT 1`,
    [bot.workspaceId],
  );
  return rows[0];
}

test("tablesScanned finds a sequential scan, so that the tests below can fail", async () => {
  const text = "SELECT FROM conversation.messages WHERE content = $1";
  expect(await tablesScanned(db.admin, { text, values: ["x"] })).toEqual(["messages", "messages"]);
});

test.each<[string, (database: Database) => Promise<unknown>]>([
  ["resolving a key", (database) => resolveKey(database, "svc_pk_many_17")],
  ["finding a bot by its slug", (database) => findBotId(database, bot.workspaceId, bot.slug)],
  ["reading a bot's configuration", (database) => readBotConfig(database, bot.workspaceId, bot.id)],
  [
    "opening a turn in a known session",
    async (database) => openTurn(database, newTurn(bot, { sessionId: (await anyTurn()).sessionId })),
  ],
  ["reading a repeated turn", async (database) => findTurn(database, bot.workspaceId, (await anyTurn()).turnId)],
  [
    "searching knowledge",
    async (database) => searchByWords(database, await readKnowledge(database, bot), "When are refnuds paid?"),
  ],
  ["reading passages", (database) => readPassages(database, bot.workspaceId, [1, 2, 3])],
  ["closing a turn", async (database) => closeTurn(database, closing(await anyTurn()))],
  ["reading a turn's result", async (database) => findTurnResult(database, bot.workspaceId, (await anyTurn()).turnId)],
  [
    "rating a reply",
    async (database) => {
      const { sessionId, messageId } = await anyTurn();
      await rateMessage(database, {
        workspaceId: bot.workspaceId,
        botId: bot.id,
        sessionId,
        messageId: String(messageId),
        rating: "up",
      });
    },
  ],
  ["renewing a lease", (database) => renewEdge(database, randomUUID(), 30)],
  ["reading the outbox", (database) => readOutbox(database, { after: undefined, minAgeSeconds: 0, limit: 500 })],
  [
    "reading the outbox after a position",
    async (database) => {
      const [after] = await readOutbox(db.database, { after: undefined, minAgeSeconds: 0, limit: 1 });
      await readOutbox(database, { after, minAgeSeconds: 0, limit: 500 });
    },
  ],
  ["deleting from the outbox", async (database) => deleteSettled(database, [await anyTurn()])],
  [
    "exporting a session",
    async (database) => {
      for await (const piece of exportSession(database, bot.workspaceId, (await anyTurn()).sessionId))
        expect(piece).not.toBe("");
    },
  ],
  ["listing sessions", (database) => listSessions(database, bot.workspaceId, 50)],
  ["counting done turns for the audit", (database) => countDoneTurns(database, bot.workspaceId, lastMonth())],
  ["listing done turns for the audit", (database) => listDoneTurns(database, bot.workspaceId, lastMonth())],
  ["finding opened turns for the audit", (database) => findOpenedTurns(database, bot.workspaceId, [randomUUID()])],
  ["a turn's record", async (database) => findTurnRecord(database, bot.workspaceId, (await anyTurn()).messageId)],
  [
    "listing expired sessions",
    (database) => listExpired(database, bot.workspaceId, { days: 30, limit: 50, after: undefined }),
  ],
  ["erasing a session", async (database) => eraseSession(database, bot.workspaceId, (await anyTurn()).sessionId)],
])("%s scans no table", async (_, use) => {
  const statements = await statementsOf(db.database, use);
  expect(statements.length).toBeGreaterThan(0);
  for (const statement of statements) expect(await tablesScanned(db.admin, statement), statement.text).toEqual([]);
});

test("listing the workspaces for retention reads only the bots table", async () => {
  const [statement] = await statementsOf(db.database, listWorkspaceIds);
  if (statement === undefined) throw new Error("no statement");
  const plan = JSON.stringify((await db.admin.query(`EXPLAIN (FORMAT JSON) ${statement.text}`)).rows);
  expect(new Set([...plan.matchAll(/"Relation Name":"(\w+)"/g)].map((match) => match[1]))).toEqual(new Set(["bots"]));
});

test("a sweep finds streaming turns by index and scans only the small edges table", async () => {
  const [statement] = await statementsOf(db.database, (database) =>
    sweep(database, { leaseSeconds: 30, seenAt: "2026-01-01Z", graceSeconds: 15, limit: 200 }),
  );
  if (statement === undefined) throw new Error("no statement");
  expect(new Set(await tablesScanned(db.admin, statement))).toEqual(new Set(["edges"]));
});

test("measuring the outbox uses its index", async () => {
  const [statement] = await statementsOf(db.database, measureOutbox);
  if (statement === undefined) throw new Error("no statement");
  const plan = JSON.stringify((await db.admin.query(`EXPLAIN (FORMAT JSON) ${statement.text}`)).rows);
  expect(plan).toContain('"Index Name":"outbox_age"');
});

test("opening a turn in a long session reads about as many blocks as in a short one", async () => {
  const { sessionId } = await anyTurn();
  const countBlocksRead = async () => {
    const turn = newTurn(bot, { sessionId });
    const [statement] = await statementsOf(db.database, (database) => openTurn(database, turn));
    if (statement === undefined) throw new Error("no statement");
    const values = statement.values.map((value) => (value === turn.turnId ? randomUUID() : value));
    const { rows } = await db.admin.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement.text}`, values);
    const { Plan: plan } = rows[0]["QUERY PLAN"][0];
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
  };
  const before = await countBlocksRead();
  await db.admin.query(
    `INSERT INTO conversation.messages (workspace_id, session_id, message_id, turn_id, role, content, status, created_at, closed_at)
     SELECT $1, $2, nextval('conversation.message_ids') + part, gen_random_uuid(), CASE part WHEN 0 THEN 'user' ELSE 'assistant' END,
            repeat('x', 500), 'done', now(), now()
     FROM generate_series(1, 3000), generate_series(0, 1) part`,
    [bot.workspaceId, sessionId],
  );
  expect(await countBlocksRead()).toBeLessThan(before + 100);
});
