import { randomUUID } from "node:crypto";
import type { Database } from "@parley/service-kit";
import { explainAnalyze, findSequentialScans, recordStatements, selectEntries } from "@parley/service-kit/testing";
import { fillHistory, quickOrFull } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listPatterns } from "./bot-rules/moderation.store.ts";
import { listTools } from "./bot-rules/tools.store.ts";
import { readBotConfig } from "./bots/bot-config.store.ts";
import { type Bot, findBot, findBotId, listBots } from "./bots/bots.store.ts";
import { deleteReply, insertReply, listReplies, updateReply } from "./canned-replies/canned-replies.store.ts";
import {
  claimEmail,
  deleteOldEmails,
  expireEmails,
  listDueWorkspaces,
  queueSummaries,
  queueTestEmail,
  storeResult,
} from "./emails/queue.store.ts";
import { deleteRecipient, listRecipients } from "./emails/recipients.store.ts";
import { listErasures, listSessionsToErase, storeErasure } from "./erasures/erasures.store.ts";
import { hasDocument, insertCase, insertRun, listCases, listRuns } from "./evaluations/evaluations.store.ts";
import { listColleagues, seeAgent } from "./handoff/agents.store.ts";
import { finishContactMessages, leaveContactMessage, readContactMessage } from "./handoff/contact-messages.store.ts";
import { HANDED_OFF_STATES, listHandoffs } from "./handoff/list-handoffs.store.ts";
import { hasNote, insertNote, listNotes, lockSession } from "./handoff/notes.store.ts";
import { storeKeyUses } from "./keys/key-uses.store.ts";
import { listKeys, resolveKey } from "./keys/keys.store.ts";
import { listSources } from "./knowledge/knowledge.store.ts";
import { readPassages } from "./knowledge/knowledge-search.store.ts";
import { searchByWords } from "./knowledge/word-search.service.ts";
import { MAX_REPLIES, readUnanswered } from "./questions/unanswered.store.ts";
import {
  enqueueSettlements,
  listDoneTurns,
  readOldestDoneSeconds,
  readTurnStates,
} from "./reconciliation/turns.store.ts";
import { countUnpaidTurns } from "./reconciliation/unpaid.store.ts";
import { listExpiredSessions } from "./retention/retention.store.ts";
import { readSessions } from "./session-exports/export-sessions.store.ts";
import { findText, type ListFilters, listSessions } from "./session-lists/list-sessions.store.ts";
import { eraseSession } from "./sessions/erase-session.store.ts";
import { exportSession } from "./sessions/export-session.store.ts";
import { hasConsent, refusesTurn, type SessionPosition } from "./sessions/index.ts";
import { rateMessage, reviewMessage } from "./sessions/messages.store.ts";
import { findSession } from "./sessions/sessions.store.ts";
import { deleteSettled, measureOutbox, positionBefore, readOutbox, readOutboxMark } from "./settlement/outbox.store.ts";
import { countBotRepliesByHour, deleteBotCountsBefore, readBotUsage } from "./statistics/bot-usage.store.ts";
import {
  compareWeeks,
  countRatedSessions,
  countRepliesByHour,
  deleteCountsBefore,
  readDays,
  readFirstTokenHistogram,
} from "./statistics/statistics.store.ts";
import { createBotReplyCountTask, createReplyCountTask } from "./statistics/statistics.worker.ts";
import { renewEdge } from "./sweeping/edge-leases.store.ts";
import { readSweepMark, sweep } from "./sweeping/sweep.store.ts";
import { createTestDatabase, type TestDatabase } from "./testing/database.ts";
import { readKnowledge } from "./testing/knowledge.ts";
import { createBot, edgeFields, newClosing, newTurn } from "./testing/turns.ts";
import { closeTurn, findTurnResult } from "./turns/close-turn.store.ts";
import { readEarlierMessages } from "./turns/history.store.ts";
import { findKeyedTurn, findTurnOfMessage } from "./turns/keyed-turns.store.ts";
import { findOpenedTurn, openTurn } from "./turns/open-turn.store.ts";
import { findTurnRecord, findTurnRecordById, listTurnRecords } from "./turns/turn-record.store.ts";
import {
  countDoneTurns,
  countDoneTurnsOfPage,
  findOpenedTurns,
  listDoneTurnIds,
} from "./usage-audit/usage-audit.store.ts";
import { listVisitorMessages, listVisitorSessions } from "./visitor-history/visitor-history.store.ts";
import { recordAttempt } from "./webhooks/attempts.store.ts";
import { listDeliveries, queueTestEvent, redeliver } from "./webhooks/deliveries.store.ts";
import { findEndpoint, listEndpoints, updateEndpoint } from "./webhooks/endpoints.store.ts";
import { readEventContent } from "./webhooks/event-content.store.ts";
import {
  claimDelivery,
  copyEvents,
  deleteDeliveries,
  deleteExpired,
  dropOldest,
  findNextEndpoint,
  listDue,
} from "./webhooks/queue.store.ts";

/** The only table that a statement in the first `test.each` may scan. It has one row per month, so a scan reads one page. */
const SCANNED_TABLE = "closed_months";
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
    INSERT INTO conversation.bots (workspace_id, bot_id, slug, settings, display)
    SELECT 'many_' || n, gen_random_uuid(), 'bot', '{}', '{}' FROM generate_series(1, ${BOTS}) n;

    INSERT INTO conversation.api_keys (workspace_id, public_key, bot_id, allowed_domains)
    SELECT b.workspace_id, 'svc_pk_' || b.workspace_id, b.bot_id, '{example.com}' FROM conversation.bots b;

    INSERT INTO conversation.identity_keys (workspace_id, kid, algorithm, verification_key)
    SELECT b.workspace_id, 'k', 'HS256', 's' FROM conversation.bots b ON CONFLICT DO NOTHING;

    INSERT INTO conversation.webhook_endpoints (workspace_id, endpoint_id, url, types, include_content, secret, last_sequence)
    SELECT b.workspace_id, b.bot_id, 'https://receiver.example/', '{}', false, 's', 5 FROM conversation.bots b;

    INSERT INTO conversation.webhook_deliveries
      (workspace_id, endpoint_id, sequence, event_id, type, occurred_at, data, status, next_attempt_at)
    SELECT w.workspace_id, w.endpoint_id, n, gen_random_uuid(), 'message.completed', now(), '{}',
           CASE WHEN n = 1 THEN 'pending' ELSE 'delivered' END, CASE WHEN n = 1 THEN now() END
    FROM conversation.webhook_endpoints w, generate_series(1, 5) n;

    INSERT INTO conversation.events (workspace_id, type, occurred_at, data)
    SELECT b.workspace_id, 'message.completed', now(), '{}' FROM conversation.bots b;

    INSERT INTO conversation.email_recipients (workspace_id, recipient_id, address, language)
    SELECT b.workspace_id, b.bot_id, b.bot_id || '@example.com', 'en' FROM conversation.bots b;

    INSERT INTO conversation.email_messages (workspace_id, recipient_id, event_id, type, occurred_at, data, status, next_attempt_at, last_attempt_at)
    SELECT r.workspace_id, r.recipient_id, gen_random_uuid(), 'test', now(), '{}',
           CASE WHEN n = 1 THEN 'pending' ELSE 'sent' END, CASE WHEN n = 1 THEN now() END, CASE WHEN n > 1 THEN now() - make_interval(days => n) END
    FROM conversation.email_recipients r, generate_series(1, 5) n;

    INSERT INTO conversation.moderation_patterns (workspace_id, bot_id, pattern, reason, fallback)
    SELECT b.workspace_id, b.bot_id, 'p', 'r', '' FROM conversation.bots b;

    INSERT INTO conversation.answers (workspace_id, bot_id, questions, answer)
    SELECT b.workspace_id, b.bot_id, '{q}', 'a' FROM conversation.bots b;

    INSERT INTO conversation.canned_replies (workspace_id, name, content)
    SELECT b.workspace_id, 'n', 't' FROM conversation.bots b;

    INSERT INTO conversation.tools (workspace_id, bot_id, name, definition)
    SELECT b.workspace_id, b.bot_id, 'look_up', '{}' FROM conversation.bots b;

    INSERT INTO conversation.knowledge_sources (workspace_id, bot_id, name, format, characters, chunks, updated_at)
    SELECT b.workspace_id, b.bot_id, 'source', 'md', 0, 0, now() FROM conversation.bots b;

    INSERT INTO conversation.knowledge_chunks (workspace_id, bot_id, source_id, position, heading, content, terms)
    SELECT s.workspace_id, s.bot_id, s.source_id, n, '', text, array_to_tsvector(ARRAY['bot:' || s.bot_id]) || to_tsvector('english', text)
    FROM conversation.knowledge_sources s, generate_series(1, 5) n,
         LATERAL (SELECT 'refunds are paid within ' || n || ' days of every order' AS text) content;

    UPDATE conversation.knowledge_sources SET chunks = 5;

    INSERT INTO conversation.source_texts (workspace_id, source_id, content)
    SELECT workspace_id, source_id, 'text' FROM conversation.knowledge_sources;

    INSERT INTO conversation.knowledge_words (workspace_id, bot_id, source_id, word, lexeme, chunks)
    SELECT s.workspace_id, s.bot_id, s.source_id, word, lexeme, 5
    FROM conversation.knowledge_sources s, (
      SELECT 'refunds', 'refund' UNION ALL SELECT 'paid', 'paid' UNION ALL SELECT 'w' || n || 'ord', 'w' || n || 'ord' FROM generate_series(1, 20) n
    ) words (word, lexeme);
  `);
  // A fifth of the sessions had the id "guest" before.
  await db.admin.query(`
    UPDATE conversation.sessions SET visitor_since = 1, visitor_id = coalesce(visitor_id, 'member') WHERE hashtext(session_id::text) % 5 = 0;
    INSERT INTO conversation.session_visitors
    SELECT workspace_id, session_id, sha256('guest'), last_activity_at FROM conversation.sessions WHERE visitor_since = 1`);
  await db.admin.query(`
    INSERT INTO conversation.session_notes (workspace_id, session_id, request_id, after_message_id, author_id, author_name, content)
    SELECT workspace_id, session_id, session_id, last_message_id, 'a', 'A', 'n' FROM conversation.sessions`);
  await db.admin.query(`
    INSERT INTO conversation.refusal_counts (workspace_id, outcome, day, turns)
    SELECT 'many_' || n, 'quota_exceeded', now()::date, 1 FROM generate_series(1, ${BOTS}) n`);
  await db.admin.query(`
    INSERT INTO conversation.agents SELECT 'many_' || n, 'a', 'A', now() FROM generate_series(1, ${BOTS}) n`);
  // A backlog in the outbox, as after a quota outage of an hour.
  await db.admin.query(`
    INSERT INTO conversation.outbox
    SELECT workspace_id, turn_id, 'void', NULL, now() FROM conversation.turns WHERE status <> 'streaming' LIMIT 20000
    ON CONFLICT DO NOTHING`);
  // As if erasures had closed 20,000 running turns within the last hour.
  await db.admin.query(`
    INSERT INTO conversation.closed_turns
    SELECT workspace_id, turn_id, edge_id, now() FROM conversation.turns LIMIT 20000`);
  // A tenth of the replies are based on no passage, and a hundredth are rated down.
  await db.admin.query(`
    UPDATE conversation.turns SET grounded = false WHERE status = 'done' AND message_id % 20 = 0;
    UPDATE conversation.messages SET rating = 'down' WHERE role = 'assistant' AND message_id % 200 = 0;
    INSERT INTO conversation.evaluation_cases (workspace_id, bot_id, question, document)
    SELECT b.workspace_id, b.bot_id, 'Question ' || n, 'source' FROM conversation.bots b, generate_series(1, 5) n;
    INSERT INTO conversation.evaluation_runs (workspace_id, bot_id, cases, searched, found, semantic_failures, documents, results)
    SELECT b.workspace_id, b.bot_id, 5, 5, 5, 0, 1, '[]' FROM conversation.bots b, generate_series(1, 5) n`);
  await db.admin.query(`
    INSERT INTO conversation.workspace_deletions (workspace_id) SELECT 'gone_' || n FROM generate_series(1, ${BOTS}) n;
    INSERT INTO conversation.turn_totals (workspace_id, month, turns, digest)
    SELECT 'many_' || n, date '2020-01-01' + make_interval(months => n % 24), 1, n FROM generate_series(1, ${BOTS}) n`);
  await db.admin.query(`
    INSERT INTO conversation.audit_log (workspace_id, method, target, changed_fields)
    SELECT 'many_' || n, 'CreateBot', '{}', '{}' FROM generate_series(1, ${BOTS}) n`);
  await createReplyCountTask(db.database)(new AbortController().signal);
  await createBotReplyCountTask(db.database)(new AbortController().signal);
  await db.admin.query("VACUUM (ANALYZE)");
}, 1_800_000);
afterAll(() => db.drop());

const lastMonth = () => new Date(Date.now() - 35 * 86_400_000).toISOString().slice(0, 7);

async function findDoneTurn(): Promise<{ workspaceId: string; turnId: string; sessionId: string; messageId: number }> {
  const { rows } = await db.admin.query(
    `SELECT workspace_id AS "workspaceId", turn_id AS "turnId", session_id AS "sessionId", message_id AS "messageId"
     FROM conversation.turns WHERE workspace_id = $1 AND status = 'done' LIMIT 1`,
    [bot.workspaceId],
  );
  return rows[0];
}

const unansweredFiltersOf = ({ workspaceId, id: botId }: Bot) => ({
  workspaceId,
  botId,
  days: 90,
  languages: ["english"],
  hasKnowledge: true,
  questionWords: ["please"],
});

const CHANGES_PAGE = { before: "1000000", limit: 50 };
/** The reconciliation's window: all workspaces' turns that were closed in the last week. */
const LAST_WEEK = { workspaceId: "", since: new Date(Date.now() - 7 * 86_400_000).toISOString(), minAgeSeconds: 120 };

test("findSequentialScans reports a sequential scan", async () => {
  const text = "SELECT FROM conversation.messages WHERE content = $1";
  // Once in the plan for this value and once in the generic plan.
  expect(await findSequentialScans(db.admin, { text, values: ["x"] })).toEqual(["messages", "messages"]);
});

test.each<[string, (database: Database) => Promise<unknown>]>([
  ["resolving a key", (database) => resolveKey(database, "svc_pk_many_17")],
  [
    "storing the uses of keys",
    (database) =>
      storeKeyUses(
        database,
        Array.from({ length: 10 }, (_, n) => ({
          workspaceId: `many_${n}`,
          publicKey: `svc_pk_many_${n}`,
          ageSeconds: n,
        })),
      ),
  ],
  ["listing keys", (database) => listKeys(database, bot.workspaceId, 1_000)],
  ["listing bots", (database) => listBots(database, bot.workspaceId)],
  [
    "listing documents",
    (database) =>
      listSources(database, { workspaceId: bot.workspaceId, botId: bot.id }, { query: "our", after: "s", limit: 100 }),
  ],
  ["listing moderation patterns", (database) => listPatterns(database, bot.workspaceId, bot.id)],
  [
    "adding, changing, listing and removing canned replies",
    async (database) => {
      const { workspaceId } = bot;
      const reply = await insertReply(database, workspaceId, { name: "Hours", text: "At seven." }, 200);
      const id = BigInt(reply?.id ?? 0);
      await updateReply(database, workspaceId, { id, name: "Hours", text: "At eight." });
      expect(await listReplies(database, workspaceId)).not.toEqual([]);
      await deleteReply(database, workspaceId, id);
    },
  ],
  ["listing tools", (database) => listTools(database, { workspaceId: bot.workspaceId, botId: bot.id })],
  [
    "reading the audit log",
    (database) => selectEntries(database, "conversation", { workspaceId: bot.workspaceId, ...CHANGES_PAGE }),
  ],
  ["finding a bot by its slug", (database) => findBotId(database, bot.workspaceId, bot.slug)],
  ["reading a bot's configuration", (database) => readBotConfig(database, bot.workspaceId, bot.id)],
  [
    "opening a turn in a known session",
    async (database) => openTurn(database, newTurn(bot, { sessionId: (await findDoneTurn()).sessionId })),
  ],
  [
    "reading the turn of a repeated OpenTurn",
    async (database) => findOpenedTurn(database, bot.workspaceId, (await findDoneTurn()).turnId),
  ],
  [
    "searching knowledge with a misspelled word",
    async (database) => searchByWords(database, await readKnowledge(database, bot), "When are refnuds paid?"),
  ],
  [
    "reading a session's earlier messages",
    async (database) => {
      const { sessionId } = await findDoneTurn();
      const visitor = { visitorId: "v", visitorVerified: false };
      await readEarlierMessages(database, { workspaceId: bot.workspaceId, botId: bot.id, sessionId, ...visitor });
    },
  ],
  ["reading unanswered questions", (database) => readUnanswered(database, unansweredFiltersOf(bot))],
  ["finding a document", (database) => hasDocument(database, { workspaceId: bot.workspaceId, botId: bot.id }, "x")],
  [
    "adding and listing evaluation cases and runs",
    async (database) => {
      const [workspaceId, botId] = [bot.workspaceId, bot.id];
      await insertCase(database, { workspaceId, botId }, { question: randomUUID(), document: "source" }, 200);
      await listCases(database, { workspaceId, botId });
      const run = { cases: 1, searched: 1, found: 0, semanticFailures: 0, results: [{ caseId: 1, rank: 0 }] };
      await insertRun(database, { workspaceId, botId }, run);
      await listRuns(database, { workspaceId, botId });
    },
  ],
  ["reading passages", (database) => readPassages(database, bot.workspaceId, [1, 2, 3])],
  ["closing a turn", async (database) => closeTurn(database, newClosing(await findDoneTurn()))],
  [
    "reading a turn's result",
    async (database) => findTurnResult(database, bot.workspaceId, (await findDoneTurn()).turnId),
  ],
  [
    "rating a reply",
    async (database) => {
      const { sessionId, messageId } = await findDoneTurn();
      await rateMessage(database, {
        workspaceId: bot.workspaceId,
        botId: bot.id,
        sessionId,
        messageId: String(messageId),
        rating: "up",
      });
    },
  ],
  [
    "leaving, listing and finishing contact messages",
    async (database) => {
      const { workspaceId, sessionId } = await findDoneTurn();
      const session = { workspaceId, sessionId, botId: bot.id, visitorId: "", visitorVerified: false };
      const requestId = randomUUID();
      await leaveContactMessage(database, { ...session, requestId, email: "ada@example.com", message: "Hello" });
      for (const state of HANDED_OFF_STATES) await listHandoffs(database, workspaceId, state);
      await readContactMessage(database, { workspaceId, sessionId, contactId: requestId });
      await finishContactMessages(database, { workspaceId, sessionId, contactId: requestId });
    },
  ],
  [
    "storing and listing colleagues",
    async (database) => {
      await seeAgent(database, bot.workspaceId, { id: "a", name: "A" });
      expect(await listColleagues(database, bot.workspaceId)).toEqual([{ id: "a", name: "A", isHere: true }]);
    },
  ],
  [
    "adding and listing private notes",
    async (database) => {
      const { workspaceId, sessionId } = await findDoneTurn();
      const session = { workspaceId, sessionId };
      const request = { ...session, requestId: randomUUID() };
      await lockSession(database, session);
      await insertNote(database, { ...request, text: "Hello", authorId: "a", authorName: "A" }, 200);
      expect(await hasNote(database, request)).toBe(true);
      expect(await listNotes(database, session)).not.toEqual([]);
    },
  ],
  [
    "reviewing a reply",
    async (database) => {
      const { workspaceId, sessionId, messageId } = await findDoneTurn();
      await reviewMessage(database, { workspaceId, sessionId, messageId: String(messageId), review: "bad" });
    },
  ],
  [
    "reading a visitor's session",
    async (database) => {
      const { sessionId } = await findDoneTurn();
      const visitor = { workspaceId: bot.workspaceId, botId: bot.id, visitorId: "00000000" };
      await listVisitorMessages(database, visitor, { sessionId, before: 1_000n });
    },
  ],
  ["renewing a lease", (database) => renewEdge(database, edgeFields(randomUUID()), 30)],
  ["reading the outbox", (database) => readOutbox(database, { after: positionBefore(), minAgeSeconds: 0, limit: 500 })],
  [
    "reading the outbox after a position",
    async (database) => {
      const [after = positionBefore()] = await readOutbox(db.database, {
        after: positionBefore(),
        minAgeSeconds: 0,
        limit: 1,
      });
      await readOutbox(database, { after, minAgeSeconds: 0, limit: 500 });
    },
  ],
  ["reading the time before which the outbox gets no more rows", readOutboxMark],
  ["reading the opening time of the oldest open turn", (database) => readSweepMark(database)],
  ["deleting from the outbox", async (database) => deleteSettled(database, [await findDoneTurn()])],
  [
    "exporting a session",
    async (database) => {
      for await (const piece of exportSession(database, bot.workspaceId, (await findDoneTurn()).sessionId))
        expect(piece).not.toBe("");
    },
  ],
  [
    "storing the erasure of a visitor",
    (database) =>
      storeErasure(database, { workspaceId: bot.workspaceId, requestId: randomUUID(), visitorId: "nobody" }),
  ],
  [
    "exporting a page of sessions",
    (database) => readSessions(database, { ...FIRST_EXPORT_PAGE, workspaceId: bot.workspaceId, filters: NO_FILTER }),
  ],
  [
    "finding a text in messages",
    async (database) => {
      const { sessionId } = await findDoneTurn();
      await findText(database, bot.workspaceId, [{ sessionId, afterMessageId: 0, maxMessages: 100 }], "order");
    },
  ],
  ["counting done turns for the usage audit", (database) => countDoneTurns(database, bot.workspaceId, lastMonth())],
  [
    "counting the done turns of a page of workspaces for the usage audit",
    (database) => countDoneTurnsOfPage(database, lastMonth(), { after: "", limit: 20 }),
  ],
  [
    "listing done turns for the reconciliation",
    (database) => listDoneTurns(database, LAST_WEEK, { position: undefined, limit: 1_000 }),
  ],
  ["reading turns for the reconciliation", async (database) => readTurnStates(database, [await findDoneTurn()])],
  [
    "putting settlements into the outbox again",
    async (database) => enqueueSettlements(database, [await findDoneTurn()]),
  ],
  ["counting a day's unpaid replies", (database) => countUnpaidTurns(database, "2026-11-30", "")],
  ["listing done turns for the usage audit", (database) => listDoneTurnIds(database, bot.workspaceId, lastMonth())],
  [
    "finding opened turns for the usage audit",
    (database) => findOpenedTurns(database, bot.workspaceId, [randomUUID()]),
  ],
  [
    "reading a turn's record",
    async (database) => findTurnRecord(database, bot.workspaceId, (await findDoneTurn()).messageId),
  ],
  [
    "reading the record of a turn by its id",
    async (database) => findTurnRecordById(database, bot.workspaceId, (await findDoneTurn()).turnId),
  ],
  [
    "listing a session's turns",
    async (database) => {
      const { workspaceId } = bot;
      const { sessionId } = await findDoneTurn();
      await findSession(database, workspaceId, sessionId);
      return listTurnRecords(database, { workspaceId, sessionId }, { afterMessageId: 0, limit: 31 });
    },
  ],
  ["counting replies", (database) => countRepliesByHour(database, new Date(Date.now() - 7_200_000), new Date())],
  [
    "counting the replies of each bot",
    (database) => countBotRepliesByHour(database, new Date(Date.now() - 7_200_000), new Date()),
  ],
  [
    "deleting old counts of each bot's replies",
    (database) => deleteBotCountsBefore(database, new Date(Date.now() - 190 * 86_400_000)),
  ],
  ["reading the usage of each bot", (database) => readBotUsage(database, bot.workspaceId, 6)],
  [
    "deleting old counts of replies",
    (database) => deleteCountsBefore(database, new Date(Date.now() - 100 * 86_400_000)),
  ],
  ["comparing the replies of two weeks", (database) => compareWeeks(database, [bot.workspaceId, "many_1"])],
  ["reading the replies of each day", (database) => readDays(database, bot.workspaceId, 30)],
  ["reading the times of first tokens", (database) => readFirstTokenHistogram(database, bot.workspaceId, 30)],
  ["counting the rated sessions", (database) => countRatedSessions(database, bot.workspaceId, 30)],
  [
    "listing expired sessions",
    (database) => listExpiredSessions(database, bot.workspaceId, { minutes: 30, limit: 50, after: undefined }),
  ],
  [
    "listing webhooks and their deliveries",
    async (database) => {
      const endpoint = { workspaceId: bot.workspaceId, endpointId: bot.id };
      await listEndpoints(database, bot.workspaceId);
      await findEndpoint(database, endpoint);
      const unchanged = { url: undefined, types: undefined, includeContent: undefined, enabled: undefined };
      await updateEndpoint(database, endpoint, unchanged);
      for (const status of ["", "pending", "delivered", "failed"] as const)
        await listDeliveries(database, endpoint, { status, before: undefined, limit: 51 });
      await redeliver(database, endpoint, { from: 1, to: 2 });
      await queueTestEvent(database, endpoint);
    },
  ],
  [
    "listing recipients of e-mail and their messages",
    async (database) => {
      const recipient = { workspaceId: bot.workspaceId, recipientId: bot.id };
      await listRecipients(database, bot.workspaceId);
      await queueTestEmail(database, recipient);
      await deleteRecipient(database, { ...recipient, recipientId: randomUUID() });
    },
  ],
  ["listing the workspaces whose e-mail is due", (database) => listDueWorkspaces(database)],
  [
    "sending e-mail",
    async (database) => {
      const email = await claimEmail(database, bot.workspaceId);
      if (email === undefined || "held" in email) throw new Error("no message is due");
      await storeResult(database, email, { status: "retry", error: "e" }, 10);
    },
  ],
  [
    "cleaning the queue of e-mail",
    async (database) => {
      await queueSummaries(database);
      await expireEmails(database);
      await deleteOldEmails(database, 30, 1_000);
    },
  ],
  ["moving events to the queues of webhooks", (database) => copyEvents(database, 500)],
  ["listing the webhooks that are due", (database) => listDue(database, 4)],
  [
    "delivering an event",
    async (database) => {
      const delivery = await claimDelivery(database, { workspaceId: bot.workspaceId, endpointId: bot.id });
      if (delivery === undefined) throw new Error("no delivery is due");
      const { sessionId, messageId } = await findDoneTurn();
      const claimed = { ...delivery, sessionId, data: { message_id: messageId } };
      await readEventContent(database, claimed);
      const attempt = { startedAt: new Date(), durationMs: 1, status: 500, body: "no" };
      await recordAttempt(database, claimed, attempt, async () => undefined);
      await recordAttempt(database, claimed, { ...attempt, status: 200 }, async () => undefined);
    },
  ],
  [
    "limiting and cleaning the queues of webhooks",
    async (database) => {
      const endpoint = { workspaceId: bot.workspaceId, endpointId: bot.id };
      await dropOldest(database, endpoint, 100_000);
      await deleteExpired(database, 30, 1_000);
      await findNextEndpoint(database, endpoint);
      await deleteDeliveries(database, { ...endpoint, endpointId: randomUUID() }, 1_000);
    },
  ],
  ["erasing a session", async (database) => eraseSession(database, bot.workspaceId, (await findDoneTurn()).sessionId)],
  [
    "erasing a session whose retention has passed",
    async (database) => eraseSession(database, bot.workspaceId, (await findDoneTurn()).sessionId, 10),
  ],
])("%s scans no table but closed_months", async (_, use) => {
  const statements = await recordStatements(db.database, use);
  expect(statements.length).toBeGreaterThan(0);
  for (const statement of statements) {
    const scanned = await findSequentialScans(db.admin, statement);
    expect(
      scanned.filter((table) => table !== SCANNED_TABLE),
      statement.text,
    ).toEqual([]);
  }
});

const FIRST_EXPORT_PAGE = {
  startedAt: "2026-01-01Z",
  sessionId: randomUUID(),
  isInclusive: false,
  until: "2100-01-01Z",
  limit: 100,
};
const NO_FILTER = { botSlug: "", source: "", visitorId: "", rating: "", review: "" };
const YEAR_2025_MICROSECONDS = 1_735_689_600_000_000n;

/** Runs the last statement of `use` again. Returns its plans as JSON, and the number of blocks that the most expensive plan reads. */
async function explain(use: (database: Database) => Promise<unknown>) {
  const statement = (await recordStatements(db.database, use)).at(-1);
  if (statement === undefined) throw new Error("no statement");
  const roots = await explainAnalyze(db.admin, statement);
  const blocks = Math.max(...roots.map((root) => root["Shared Hit Blocks"] + root["Shared Read Blocks"]));
  return { plan: JSON.stringify(roots), blocks };
}

test.each<[string, Partial<ListFilters>, string]>([
  ["nothing", {}, "sessions_recent"],
  ["a bot", { botSlug: "assistant" }, "sessions_bot"],
  ["the playground", { source: "playground" }, "sessions_playground"],
  ["the widget", { source: "widget" }, "sessions_recent"],
  ["a visitor", { visitorId: "00000000" }, "sessions_visitor"],
  ["an id that other ids have replaced", { visitorId: "guest" }, "session_visitors_hash"],
  ["the rating up", { rating: "up" }, "sessions_rated_up"],
  ["the rating down", { rating: "down" }, "sessions_rated_down"],
  ["the review good", { review: "good" }, "sessions_reviewed_good"],
  ["the review bad", { review: "bad" }, "sessions_reviewed_bad"],
  ["a bot and the rating down", { botSlug: "assistant", rating: "down" }, "sessions_rated_down"],
  ["a time", { sinceMicroseconds: YEAR_2025_MICROSECONDS }, "sessions_recent"],
])(
  "a page of the session list, filtered by %s, is read in order from an index, without a sort",
  async (_, filters, index) => {
    const find = (database: Database, after?: SessionPosition) =>
      listSessions(database, bot.workspaceId, { ...NO_FILTER, ...filters }, { after, limit: 100 });
    const { next } = await find(db.database);
    for (const after of [undefined, next]) {
      const { plan, blocks } = await explain((database) => find(database, after));
      expect(plan).not.toContain("Seq Scan");
      expect(plan).not.toContain('"Node Type":"Sort"');
      expect(plan).toContain(`"Index Name":"${index}"`);
      // A session, its bot and its open turns cost a few blocks each.
      expect(blocks).toBeLessThan(101 * 20);
    }
  },
);

test("a page of a visitor's sessions is read in order from an index, whatever others have or claim", async () => {
  const visitorId = randomUUID();
  const addSessions = (count: number, visitor: string, isVerified: boolean) =>
    db.admin.query(
      `WITH added AS (
         INSERT INTO conversation.sessions (
           workspace_id, session_id, bot_id, source, visitor_id, visitor_verified, last_message_id, message_count, started_at, last_activity_at
         )
         SELECT $1, gen_random_uuid(), $2, 'widget', ${visitor}, $3, 2, 2, at, at
         FROM generate_series(1, $4::integer) n, LATERAL (SELECT now() - n * interval '1 second' AS at) t
         RETURNING session_id, started_at
       )
       INSERT INTO conversation.messages (workspace_id, session_id, message_id, turn_id, role, content, status, created_at, closed_at)
       SELECT $1, session_id, 1, gen_random_uuid(), 'user', 'Hello', 'done', started_at, started_at FROM added`,
      [bot.workspaceId, bot.id, isVerified, count],
    );
  await addSessions(10_000, `'${visitorId}'`, true);
  await addSessions(quickOrFull(20_000, 900_000), "'other ' || n / 10", true);
  await addSessions(quickOrFull(10_000, 100_000), `'${visitorId}'`, false);
  const visitor = { workspaceId: bot.workspaceId, botId: bot.id, visitorId };
  const find = (database: Database, after?: SessionPosition) => listVisitorSessions(database, visitor, after);
  const expectKeyset = async () => {
    const { next } = await find(db.database);
    for (const after of [undefined, next]) {
      const { plan, blocks } = await explain((database) => find(database, after));
      expect(plan).toContain('"Index Name":"sessions_verified"');
      expect(plan).not.toMatch(/Seq Scan|"Node Type":"Sort"/);
      // A session and its first message cost a few blocks each.
      expect(blocks).toBeLessThan(21 * 15);
    }
  };
  // Also while the statistics do not have the new sessions.
  await expectKeyset();
  await db.admin.query("VACUUM (ANALYZE) conversation.sessions, conversation.messages");
  await expectKeyset();
}, 1_800_000);

test("a page of a visitor's long session reads only its own messages", async () => {
  const turn = newTurn(bot, { visitorId: "long", visitorVerified: true });
  await openTurn(db.database, turn);
  await db.admin.query(
    `INSERT INTO conversation.messages (workspace_id, session_id, message_id, turn_id, role, content, status, created_at, closed_at)
     SELECT $1, $2, n, gen_random_uuid(), CASE n % 2 WHEN 1 THEN 'user' ELSE 'assistant' END, 'Hello', 'done', now(), now()
     FROM generate_series(1, 20000) n`,
    [bot.workspaceId, turn.sessionId],
  );
  const visitor = { workspaceId: bot.workspaceId, botId: bot.id, visitorId: "long" };
  for (const before of [0n, 10_001n]) {
    const { plan, blocks } = await explain((database) =>
      listVisitorMessages(database, visitor, { sessionId: turn.sessionId, before }),
    );
    for (const index of ["sessions_pkey", "messages_pkey"]) expect(plan).toContain(`"Index Name":"${index}"`);
    expect(plan).not.toMatch(/Seq Scan|"Node Type":"(Incremental )?Sort"/);
    expect(blocks).toBeLessThan(51 * 4);
  }
});

test("a bot's unanswered questions are read from the indexes of ungrounded replies and of replies that were rated down", async () => {
  const { plan, blocks } = await explain((database) => readUnanswered(database, unansweredFiltersOf(bot)));
  expect(plan).not.toContain("Seq Scan");
  expect(new Set([...plan.matchAll(/"Index Name":"(\w+)"/g)].map((match) => match[1]))).toEqual(
    new Set(["turns_unanswered", "messages_rated_down", "sessions_pkey", "messages_pkey"]),
  );
  // A turn, its session and its two messages cost a few blocks each.
  expect(blocks).toBeLessThan(MAX_REPLIES * 25);
});

test("an unanswered question of a long session costs about as many blocks as one of a short session", async () => {
  const asked = newTurn(bot);
  const opened = await openTurn(db.database, asked);
  await db.admin.query(
    `WITH asked AS (
       SELECT gen_random_uuid() AS turn_id, $4::bigint - 1 + 2 * n AS message_id, now() - n * interval '1 second' AS at
       FROM generate_series(1, 2000) n
     ), turns AS (
       INSERT INTO conversation.turns (
         workspace_id, turn_id, session_id, message_id, bot_id, edge_id, status, month, asked_model, model, grounded, opened_at, closed_at
       )
       SELECT $1, turn_id, $2, message_id + 1, $3, gen_random_uuid(), 'done', date_trunc('month', at)::date, '', '', false, at, at FROM asked
     )
     INSERT INTO conversation.messages (workspace_id, session_id, message_id, turn_id, role, content, status, created_at, closed_at)
     SELECT $1, $2, message_id + part, turn_id, CASE part WHEN 0 THEN 'user' ELSE 'assistant' END, 'Where is the shop?', 'done', at, at
     FROM asked, generate_series(0, 1) part`,
    [bot.workspaceId, asked.sessionId, bot.id, opened?.messageId],
  );
  const { questions, repliesRead } = await readUnanswered(db.database, unansweredFiltersOf(bot));
  expect(repliesRead).toBe(MAX_REPLIES);
  // At most half of the MAX_REPLIES replies are rated down. The other replies are the latest ungrounded ones, which are in the long session.
  const inLongSession = questions.filter(({ sessionId }) => sessionId === asked.sessionId);
  expect(inLongSession.length).toBeGreaterThanOrEqual(MAX_REPLIES / 2);
  const { blocks } = await explain((database) => readUnanswered(database, unansweredFiltersOf(bot)));
  expect(blocks).toBeLessThan(MAX_REPLIES * 25);
});

test.each<[string, Partial<ListFilters>]>([
  ["nothing", {}],
  ["a bot", { botSlug: "assistant" }],
  ["the playground", { source: "playground" }],
  ["a visitor", { visitorId: "00000000" }],
  ["a rating", { rating: "down" }],
  ["a review", { review: "bad" }],
])("a page of an export filtered by %s reads only its own sessions and messages, by index", async (_, filters) => {
  const page = { ...FIRST_EXPORT_PAGE, workspaceId: bot.workspaceId, filters: { ...NO_FILTER, ...filters } };
  const { plan, blocks } = await explain((database) => readSessions(database, page));
  expect(plan).not.toContain("Seq Scan");
  expect(plan).toContain('"Index Name":"sessions_started"');
  // A session with its messages costs a few tens of blocks.
  expect(blocks).toBeLessThan(100 * 40);
});

test("the sessions of an erasure are read in order from the indexes of current and of earlier ids, without a sort", async () => {
  const erasure = {
    workspaceId: bot.workspaceId,
    requestId: randomUUID(),
    visitorId: "00000000",
    areSessionsCommitted: true,
  };
  const after = { microseconds: 1, sessionId: randomUUID() };
  const list = (database: Database) => listSessionsToErase(database, erasure, { after, limit: 50 });
  const { plan } = await explain(list);
  for (const index of ["sessions_visitor", "session_visitors_hash"]) expect(plan).toContain(`"Index Name":"${index}"`);
  expect(plan).not.toContain('"Node Type":"Sort"');
  expect(plan).not.toMatch(/"Node Type":"Seq Scan"[^{}]*"Relation Name":"(?!erasures)/);
});

test("a page of erasures starts after the last erasure of the previous page", async () => {
  const requestIds = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
  await db.admin.query("DELETE FROM conversation.erasures");
  for (const requestId of requestIds)
    await db.admin.query(
      "INSERT INTO conversation.erasures (workspace_id, request_id, visitor_id, requested_at) VALUES ($1, $2, '00000000', now())",
      [bot.workspaceId, requestId],
    );
  const [first] = await listErasures(db.database, { after: undefined, limit: 1 });
  const rest = await listErasures(db.database, { after: first, limit: 10 });
  expect([first, ...rest].map((erasure) => erasure?.requestId)).toEqual(requestIds);
});

test("a page of expired sessions is read in order from an index, without a sort", async () => {
  const after = { id: randomUUID(), lastActivityAt: "2020-01-01Z" };
  const { plan, blocks } = await explain((database) =>
    listExpiredSessions(database, bot.workspaceId, { minutes: 30, limit: 50, after }),
  );
  expect(plan).toContain('"Index Name":"sessions_recent"');
  expect(plan).not.toContain('"Node Type":"Sort"');
  expect(blocks).toBeLessThan(50 * 8);
});

test("a sweep finds streaming turns by index and scans only the small edges table", async () => {
  const [statement] = await recordStatements(db.database, (database) =>
    sweep(database, { leaseSeconds: 30, databaseRespondedAt: "2026-01-01Z", graceSeconds: 15, limit: 200 }),
  );
  if (statement === undefined) throw new Error("no statement");
  expect(new Set(await findSequentialScans(db.admin, statement))).toEqual(new Set(["edges"]));
});

test("finding a turn by its idempotency key or its message uses indexes and scans only the small edges table", async () => {
  const visitor = { visitorId: "v", visitorVerified: true };
  const turn = { ...(await findDoneTurn()), botId: bot.id, source: "widget", ...visitor };
  const statements = await recordStatements(db.database, async (database) => {
    await findKeyedTurn(database, { ...turn, keyHash: new Uint8Array(32) });
    await findTurnOfMessage(database, { ...turn, messageId: String(turn.messageId) });
    await refusesTurn(database, turn);
    await hasConsent(database, turn, "1");
  });
  expect(statements).toHaveLength(4);
  for (const statement of statements) {
    const scanned = new Set(await findSequentialScans(db.admin, statement));
    expect(scanned.difference(new Set(["edges"])), statement.text).toEqual(new Set());
  }
});

test("the age of the oldest done turn is read from the first entry of an index", async () => {
  const [statement] = await recordStatements(db.database, readOldestDoneSeconds);
  if (statement === undefined) throw new Error("no statement");
  const [root] = await explainAnalyze(db.admin, statement);
  expect(JSON.stringify(root)).toContain('"Index Name":"turns_done_closed"');
  expect((root?.["Shared Hit Blocks"] ?? 0) + (root?.["Shared Read Blocks"] ?? 0)).toBeLessThan(8);
});

test("a page of the reconciliation reads only its own turns by index, whatever the size of the table", async () => {
  const statements = await recordStatements(db.database, (database) =>
    listDoneTurns(database, { ...LAST_WEEK, since: "" }, { position: undefined, limit: 100 }),
  );
  const statement = statements.at(-1);
  if (statement === undefined) throw new Error("no statement");
  for (const root of await explainAnalyze(db.admin, statement)) {
    const plan = JSON.stringify(root);
    expect(plan).toContain('"Index Name":"turns_done_closed"');
    expect(plan).not.toContain('"Node Type":"Sort"');
    // A turn and a look-up in the outbox cost a few blocks each.
    expect(root["Actual Rows"]).toBe(100);
    expect(root["Shared Hit Blocks"] + root["Shared Read Blocks"]).toBeLessThan(100 * 8);
  }
});

test("measuring the outbox uses its index", async () => {
  const [statement] = await recordStatements(db.database, measureOutbox);
  if (statement === undefined) throw new Error("no statement");
  const plan = JSON.stringify((await db.admin.query(`EXPLAIN (FORMAT JSON) ${statement.text}`)).rows);
  expect(plan).toContain('"Index Name":"outbox_age"');
});

// While the statistics say that no turns are open, the index of a workspace's open turns seems cheaper than the primary key. A cached plan
// with that index would later read all open turns of the workspace. Until the next vacuum it would also read the closed turns.
test("CloseTurn and the sweep close turns by primary key, although the index of open turns was empty at planning time", async () => {
  const { workspaceId, turnId } = await findDoneTurn();
  const close = await explain((database) => closeTurn(database, newClosing({ workspaceId, turnId })));
  const sweeping = { leaseSeconds: 30, databaseRespondedAt: new Date().toISOString(), graceSeconds: 15, limit: 200 };
  const swept = await explain((database) => sweep(database, sweeping));
  for (const { plan } of [close, swept]) {
    expect(plan).toContain('"Index Name":"turns_pkey"');
    expect(plan).not.toContain('"Index Name":"turns_streaming"');
  }
});

test("opening a turn in a long session reads about as many blocks as in a short one", async () => {
  const { sessionId } = await findDoneTurn();
  const countBlocksRead = async () => {
    const turn = newTurn(bot, { sessionId });
    const [statement] = await recordStatements(db.database, (database) => openTurn(database, turn));
    if (statement === undefined) throw new Error("no statement");
    const values = statement.values.map((value) => (value === turn.turnId ? randomUUID() : value));
    const [plan] = await explainAnalyze(db.admin, { text: statement.text, values });
    if (plan === undefined) throw new Error("no plan");
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
  };
  const before = await countBlocksRead();
  await db.admin.query(
    `WITH session AS (
       UPDATE conversation.sessions SET last_message_id = last_message_id + 6000 WHERE workspace_id = $1 AND session_id = $2
       RETURNING last_message_id
     )
     INSERT INTO conversation.messages (workspace_id, session_id, message_id, turn_id, role, content, status, created_at, closed_at)
     SELECT $1, $2, last_message_id + 1 - 2 * n + part, gen_random_uuid(), CASE part WHEN 0 THEN 'user' ELSE 'assistant' END,
            repeat('x', 500), 'done', now(), now()
     FROM session, generate_series(1, 3000) n, generate_series(0, 1) part`,
    [bot.workspaceId, sessionId],
  );
  expect(await countBlocksRead()).toBeLessThan(before + 100);
});
