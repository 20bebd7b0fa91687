import { randomUUID } from "node:crypto";
import { sqlState } from "@parley/service-kit";
import { migrate, revertMigrations } from "@parley/service-kit/migrations";
import { createDatabase } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { insertAnswer } from "../src/answers/answers.store.ts";
import { insertPattern } from "../src/bot-rules/moderation.store.ts";
import { putTool } from "../src/bot-rules/tools.store.ts";
import { insertLogo } from "../src/bots/logos.store.ts";
import { queueTestEmail } from "../src/emails/queue.store.ts";
import { storeErasure } from "../src/erasures/erasures.store.ts";
import { insertCase, insertRun } from "../src/evaluations/evaluations.store.ts";
import { recordUsageEvents } from "../src/events/usage-events.store.ts";
import { insertIdentityKey } from "../src/identity-keys/identity-keys.store.ts";
import { insertKey } from "../src/keys/keys.store.ts";
import { claimSource, readUnembedded, storeEmbeddings } from "../src/knowledge/embeddings.store.ts";
import { claimLease } from "../src/leases/leases.store.ts";
import { storeClosedMonths } from "../src/months/months.store.ts";
import { pruneTurns } from "../src/months/prune.store.ts";
import { APPEND_ONLY_TABLES } from "../src/role.ts";
import { eraseSession } from "../src/sessions/erase-session.store.ts";
import { putSite } from "../src/sites/sites.store.ts";
import { renewEdge } from "../src/sweeping/edge-leases.store.ts";
import { createTestDatabase, ROLE, ROLE_PASSWORD, type TestDatabase } from "../src/testing/database.ts";
import { addRecipient } from "../src/testing/emails.ts";
import { addDocument } from "../src/testing/knowledge.ts";
import { createBot, edgeFields, newTurn, runTurn } from "../src/testing/turns.ts";
import { addEndpoint } from "../src/testing/webhooks.ts";
import { openTurn } from "../src/turns/open-turn.store.ts";
import { queueTestEvent } from "../src/webhooks/deliveries.store.ts";
import { storeDeletion } from "../src/workspace-deletions/deletions.store.ts";
import { migrations } from "./index.ts";

const TARGET = { schema: "conversation", role: ROLE, appendOnlyTables: APPEND_ONLY_TABLES, migrations };

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

/** Inserts rows into every table. */
async function fill() {
  const bot = await createBot(db.database);
  const { workspaceId, id: botId, slug: botSlug } = bot;
  await insertKey(
    db.database,
    { publicKey: `k-${botId}`, workspaceId, botSlug, allowedDomains: ["a.example"], name: "n", challenge: "off" },
    1,
  );
  await insertIdentityKey(db.database, { workspaceId, kid: "k", algorithm: "HS256", verificationKey: "s" }, 1);
  await insertPattern(
    db.database,
    { workspaceId, botId },
    { pattern: "p", reason: "r", fallback: "", appliesTo: "both" },
    [],
  );
  await insertAnswer(db.database, { workspaceId, botId }, { questions: ["q"], answer: "a" }, 1);
  await putTool(db.database, { workspaceId, botId }, { name: "t", definition: {}, isOwners: false }, 1);
  await addDocument(db.database, bot, "n", "words");
  await embed("m");
  const site = await putSite(
    db.database,
    { workspaceId, botId },
    { url: "https://shop.example/", include: [], exclude: [], maxPages: 5, refreshMinutes: 0, isSinglePage: false },
  );
  await db.database.query(
    "INSERT INTO conversation.knowledge_pages (workspace_id, site_id, url, depth) VALUES ($1, $2, 'https://shop.example/', 0)",
    [workspaceId, typeof site === "object" ? site.id : null],
  );
  const logo = { hash: "h", contentType: "image/gif", content: Buffer.from("GIF89a") };
  await insertLogo(db.database, { workspaceId, botId }, logo);
  await insertCase(db.database, { workspaceId, botId }, { question: "q", document: "n" }, 1);
  const results = [{ caseId: 1, rank: 1 }];
  await insertRun(
    db.database,
    { workspaceId, botId },
    { cases: 1, searched: 1, found: 1, semanticFailures: 0, results },
  );
  await queueTestEvent(db.database, await addEndpoint(db.database, workspaceId));
  await queueTestEmail(db.database, await addRecipient(db.database, workspaceId));
  await recordUsageEvents(
    db.database,
    [{ workspaceId, id: randomUUID(), type: "usage.threshold", occurredAt: "2026-10-01T00:00:00Z", data: {} }],
    1n,
  );
  const turn = newTurn(bot);
  await renewEdge(db.database, edgeFields(turn.edgeId), 30);
  await runTurn(db.database, turn);
  const { sessionId } = turn;
  for (const visitorId of ["v", "w"]) await runTurn(db.database, newTurn(bot, { sessionId, visitorId }));
  await db.database.query(
    "INSERT INTO conversation.audit_log (workspace_id, method, target, changed_fields) VALUES ($1, 'm', '{}', '{}')",
    [workspaceId],
  );
  await db.database.query(
    "INSERT INTO conversation.canned_replies (workspace_id, name, content) VALUES ($1, 'n', 't')",
    [workspaceId],
  );
  await db.database.query(
    `INSERT INTO conversation.session_notes (workspace_id, session_id, request_id, after_message_id, author_id, author_name, content)
     VALUES ($1, $2, $2, 1, 'a', 'A', 'n')`,
    [workspaceId, sessionId],
  );
  await db.database.query("INSERT INTO conversation.agents VALUES ($1, 'a', 'A', now())", [workspaceId]);
  await db.database.query("INSERT INTO conversation.reply_counts VALUES ($1, now(), 1, 1, 0, '{1}')", [workspaceId]);
  await db.database.query("INSERT INTO conversation.bot_reply_counts VALUES ($1, now(), $2, now(), 1)", [
    workspaceId,
    botId,
  ]);
  await runTurn(db.database, newTurn(bot), { outcome: "quota_exceeded", content: "", month: undefined });
  const erased = newTurn(bot);
  await openTurn(db.database, erased);
  await eraseSession(db.database, workspaceId, erased.sessionId);
  await storeDeletion(db.database, workspaceId);
  await storeErasure(db.database, { workspaceId, requestId: turn.turnId, visitorId: "v" });
  await storeClosedMonths(db.database, [{ month: "2024-03", closedAt: "2024-04-09T00:00:00Z" }]);
  const pruned = newTurn(bot);
  await runTurn(db.database, pruned, { month: "2024-03" });
  await pruneTurns(db.database, { workspaceId, month: "2024-03", limit: 10 });
  await claimLease(db.database, { task: "t", holder: turn.edgeId, leaseSeconds: 60 }, 60);
}

/** Stores invented vectors for the chunks of a source. This needs no pgvector. */
async function embed(model: string) {
  const source = await claimSource(db.database, model);
  if (source === undefined) throw new Error("there is no source");
  const chunks = await readUnembedded(db.database, source, model, 10);
  const vectors = chunks.map(({ id }) => ({ id, vector: [0.5, -0.5] }));
  expect(await storeEmbeddings(db.database, source, model, vectors)).toMatchObject({ sourceId: source.sourceId });
}

async function rowCounts() {
  const { rows } = await db.admin.query(
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'conversation' AND table_name NOT LIKE 'migrations%'",
  );
  const counts = rows.map(async ({ table_name }) => {
    const count = await db.admin.query(`SELECT count(*) AS count FROM conversation.${table_name}`);
    return [table_name, count.rows[0].count];
  });
  return Object.fromEntries(await Promise.all(counts));
}

test("the migrations can be reverted one at a time while every table has rows, and then be applied again", async () => {
  await fill();
  const before = await rowCounts();
  expect(Object.keys(before)).toHaveLength(41);
  expect(Object.values(before)).not.toContain(0);
  const target = { ...TARGET, url: db.adminUrl };
  for (const migration of migrations.toReversed()) expect(await revertMigrations(target, 1)).toEqual([migration.name]);
  expect(await rowCounts()).toEqual({});
  expect(await migrate(target)).toEqual({ applied: migrations.map((migration) => migration.name) });
  await fill();
  expect(Object.values(await rowCounts())).not.toContain(0);
});

test("the planner's statistics contain no content of sessions and messages", async () => {
  const bot = await createBot(db.database);
  const marker = `marker-${bot.id}`;
  for (let i = 0; i < 20; i++) {
    const visitor = { visitorId: marker, referrer: marker, userAgent: marker, visitorMetadata: `{"a":"${marker}"}` };
    await runTurn(db.database, newTurn(bot, { message: marker, ...visitor }), {
      content: marker,
      toolsCalled: [{ name: "order", arguments: { of: marker }, status: "done", latency_ms: 1 }],
    });
  }
  const columnsWithMarker = async () => {
    await db.admin.query("ANALYZE");
    const { rows } = await db.admin.query(
      `SELECT tablename || '.' || attname AS name FROM pg_stats
       WHERE schemaname = 'conversation' AND (most_common_vals::text || coalesce(histogram_bounds::text, '')) LIKE $1 ORDER BY 1`,
      [`%${marker}%`],
    );
    return rows.map((row) => row.name);
  };
  expect(await columnsWithMarker()).toEqual([]);
  // Shows that the query finds content in the statistics of a column that has them.
  await db.admin.query("ALTER TABLE conversation.messages ALTER COLUMN content SET STATISTICS -1");
  expect(await columnsWithMarker()).toEqual(["messages.content"]);
});

test("the service's role cannot read another schema, alter its own schema, or update or delete rows of append-only tables", async () => {
  await db.admin.query("CREATE SCHEMA IF NOT EXISTS quota; CREATE TABLE IF NOT EXISTS quota.usage (used integer)");
  for (const forbidden of [
    "SELECT * FROM quota.usage",
    "INSERT INTO quota.usage VALUES (1)",
    "CREATE TABLE conversation.more (id integer)",
    "DROP TABLE conversation.turns",
    "ALTER TABLE conversation.turns ADD COLUMN more integer",
    "TRUNCATE conversation.turns",
    "UPDATE conversation.migrations SET name = ''",
    "UPDATE conversation.turn_totals SET turns = 0",
    "DELETE FROM conversation.turn_totals",
    "DELETE FROM conversation.audit_log",
    "CREATE SCHEMA more",
    "CREATE ROLE more",
  ]) {
    const error = await db.database.query(forbidden).catch((cause: unknown) => cause);
    expect(sqlState(error), forbidden).toBe("42501");
  }
});

test("the first run applies every migration to an empty database, and the next run applies none", async () => {
  const fresh = await createDatabase();
  const target = { ...TARGET, url: fresh.url };
  const { applied } = await migrate({ ...target, rolePassword: ROLE_PASSWORD });
  expect(applied).toHaveLength(migrations.length);
  expect(await migrate(target)).toEqual({ applied: [] });
  await fresh.drop();
});
