import { setTimeout as sleep } from "node:timers/promises";
import { QuotaService } from "@parley/rpc/quota";
import { connectPeer, createLogger, type Database, fixedTokens, Lifecycle } from "@parley/service-kit";
import { recordStatements, type Statement } from "@parley/service-kit/testing";
import { quickOrFull } from "@parley/test-support";
import { expect, onTestFinished, test } from "vitest";
import { Settler } from "./settlement/settler.worker.ts";
import { readClock } from "./sweeping/sweep.store.ts";
import { Sweeper } from "./sweeping/sweeper.worker.ts";
import { createTestDatabase, type TestDatabase } from "./testing/database.ts";
import { startTestQuota } from "./testing/quota.ts";
import { createBot } from "./testing/turns.ts";

const TURNS = quickOrFull(30_000, 500_000);
/**
 * The limit for one read or sweep. A scan of the index entries of all settled or closed turns would use more buffers, so the settler and the
 * sweeper start after these entries.
 */
const MAX_BUFFERS = 50;

const log = createLogger("test", "silent");

/** Opens a transaction with a long snapshot, as pg_dump does. It keeps vacuum from removing the rows that are deleted from now on. */
async function holdSnapshot({ admin }: TestDatabase): Promise<void> {
  const connection = await admin.connect();
  await connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM conversation.turns");
  onTestFinished(async () => {
    await connection.query("ROLLBACK");
    connection.release();
  });
}

async function createDatabase(lifecycle: Lifecycle): Promise<TestDatabase> {
  const db = await createTestDatabase();
  onTestFinished(async () => {
    await lifecycle.close();
    await db.drop();
  });
  return db;
}

async function insertOpenTurns({ admin, database }: TestDatabase, count: number): Promise<void> {
  const { workspaceId, id } = await createBot(database);
  await admin.query(
    `INSERT INTO conversation.turns (workspace_id, turn_id, session_id, message_id, bot_id, edge_id, status, asked_model, model, opened_at)
     SELECT $1, gen_random_uuid(), gen_random_uuid(), n, $2, gen_random_uuid(), 'streaming', '', '', now() - interval '1 minute'
     FROM generate_series(1, $3::int) n`,
    [workspaceId, id, count],
  );
}

async function countBuffers({ admin }: TestDatabase, { text, values }: Statement): Promise<number> {
  const { rows } = await admin.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values);
  const { Plan: plan } = rows[0]["QUERY PLAN"][0];
  return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
}

function findLast(statements: readonly Statement[], text: string): Statement {
  const statement = statements.findLast((each) => each.text.includes(text));
  if (statement === undefined) throw new Error(`no statement with ${text}`);
  return statement;
}

test("a read of the outbox uses few buffers while a long snapshot keeps the rows of settled turns", async () => {
  const lifecycle = new Lifecycle(log);
  const db = await createDatabase(lifecycle);
  const quota = await startTestQuota();
  lifecycle.onClose("quota", () => quota.close());
  await insertOpenTurns(db, TURNS);
  await db.admin.query(
    `INSERT INTO conversation.outbox
     SELECT workspace_id, turn_id, 'void', NULL, now() - interval '30 seconds' FROM conversation.turns`,
  );
  await holdSnapshot(db);
  const countFirstRow = async () => (await db.admin.query("SELECT FROM conversation.outbox LIMIT 1")).rowCount;
  const statements = await recordStatements(db.database, async (database: Database) => {
    const client = connectPeer(QuotaService, { target: quota.target, internalTokens: fixedTokens("t") }, lifecycle);
    const lag = { observe: () => undefined };
    const settler = new Settler({ database, quota: client, lag, log, isOnlyShard: true });
    settler.start();
    await expect.poll(countFirstRow, { timeout: 25_000 + TURNS / 2, interval: 200 }).toBe(0);
    // Leaves the settler time for at least two further polls.
    await sleep(3_500);
    await settler.stop();
  });
  expect(await countBuffers(db, findLast(statements, "FROM conversation.outbox"))).toBeLessThan(MAX_BUFFERS);
}, 600_000);

test("a sweep uses few buffers while a long snapshot keeps the index entries of closed turns", async () => {
  const db = await createDatabase(new Lifecycle(log));
  await insertOpenTurns(db, TURNS);
  await db.admin.query("ANALYZE conversation.turns");
  await holdSnapshot(db);
  const statements = await recordStatements(db.database, async (database: Database) => {
    // Reports 10 s at each run. The sweeper waits until the sum is a full lease of 30 s, so it sweeps from the third run on.
    const clock = async () => ({ ...(await readClock(db.database, undefined)), seconds: 10 });
    const sweeper = new Sweeper(database, 30, () => undefined, log, clock);
    await db.admin.query("UPDATE conversation.turns SET status = 'error', closed_at = now()");
    for (let run = 0; run < 4; run++) expect(await sweeper.sweepIfSafe()).toBe(0);
  });
  expect(await countBuffers(db, findLast(statements, "lapsed AS"))).toBeLessThan(MAX_BUFFERS);
}, 600_000);
