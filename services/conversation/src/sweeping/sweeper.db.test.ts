import { randomUUID } from "node:crypto";
import { createLogger } from "@parley/service-kit";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, edgeFields, newTurn } from "../testing/turns.ts";
import { findTurnResult, type Settlement } from "../turns/close-turn.store.ts";
import { openTurn } from "../turns/open-turn.store.ts";
import { renewEdge } from "./edge-leases.store.ts";
import { readClock, sweep } from "./sweep.store.ts";
import { Sweeper } from "./sweeper.worker.ts";

let db: TestDatabase;
let bot: Bot;
beforeEach(async () => {
  db = await createTestDatabase();
  bot = await createBot(db.database);
});
afterEach(() => db.drop());

async function openTurnOf(edgeId: string, ageSeconds: number) {
  const turn = newTurn(bot, { edgeId });
  await openTurn(db.database, turn);
  await db.admin.query(
    "UPDATE conversation.turns SET opened_at = now() - make_interval(secs => $2) WHERE turn_id = $1",
    [turn.turnId, ageSeconds],
  );
  return turn.turnId;
}

async function sweepNow(limit = 200) {
  const { now } = await readClock(db.database, undefined);
  return sweep(db.database, { leaseSeconds: 30, databaseRespondedAt: now, graceSeconds: 15, limit });
}

const statusOf = async (turnId: string) => (await findTurnResult(db.database, bot.workspaceId, turnId))?.status;

test("a sweep closes the turns of edges without a current lease, and puts them into the outbox with the outcome void", async () => {
  const [alive, dead, unknown] = [randomUUID(), randomUUID(), randomUUID()];
  await renewEdge(db.database, edgeFields(alive), 30);
  await renewEdge(db.database, edgeFields(dead), 30);
  await db.admin.query("UPDATE conversation.edges SET expires_at = now() - interval '1 second' WHERE edge_id = $1", [
    dead,
  ]);
  const kept = await openTurnOf(alive, 60);
  const lapsed = await Promise.all([openTurnOf(dead, 60), openTurnOf(unknown, 60)]);
  const closed = await sweepNow();
  expect(new Set(closed.map((each) => each.turnId))).toEqual(new Set(lapsed));
  expect(closed.every((each) => each.outcome === "void")).toBe(true);
  for (const turnId of lapsed) expect(await statusOf(turnId)).toBe("interrupted");
  expect(await statusOf(kept)).toBe("streaming");
  const { rows } = await db.admin.query("SELECT turn_id, outcome FROM conversation.outbox");
  expect(new Set(rows)).toEqual(new Set(lapsed.map((turnId) => ({ turn_id: turnId, outcome: "void" }))));
  const messages = await db.admin.query(
    "SELECT status FROM conversation.messages WHERE turn_id = ANY ($1) AND role = 'assistant'",
    [lapsed],
  );
  expect(messages.rows.map((row) => row.status)).toEqual(["interrupted", "interrupted"]);
});

test("a sweep keeps a turn that is younger than the lease duration, so that a new edge's first turns stay open", async () => {
  await openTurnOf(randomUUID(), 25);
  expect(await sweepNow()).toEqual([]);
});

test("a sweep closes a turn that is older than 7 minutes even if its edge has a lease", async () => {
  const edge = randomUUID();
  await renewEdge(db.database, edgeFields(edge), 30);
  const [young, old] = [await openTurnOf(edge, 415), await openTurnOf(edge, 425)];
  expect((await sweepNow()).map((each) => each.turnId)).toEqual([old]);
  expect(await statusOf(young)).toBe("streaming");
  // Each renewal returns the closed turn again, because the edge may not have received an earlier response.
  const expected = [{ workspaceId: bot.workspaceId, turnId: old }];
  expect(await renewEdge(db.database, edgeFields(edge), 30)).toEqual(expected);
  expect(await renewEdge(db.database, edgeFields(edge), 30)).toEqual(expected);
  expect(await renewEdge(db.database, edgeFields(randomUUID()), 30)).toEqual([]);
});

test("sweeps that run concurrently close each turn once", async () => {
  await Promise.all(Array.from({ length: 100 }, () => openTurnOf(randomUUID(), 60)));
  const closed = (await Promise.all([sweepNow(60), sweepNow(60), sweepNow(60), sweepNow(60)])).flat();
  expect(new Set(closed.map((each) => each.turnId)).size).toBe(closed.length);
  expect((await sweepNow()).length + closed.length).toBe(100);
});

test("a sweep does nothing if the database's last response is older than the grace period", async () => {
  await openTurnOf(randomUUID(), 60);
  const { rows } = await db.admin.query("SELECT (now() - interval '16 seconds')::text AS long_ago");
  expect(
    await sweep(db.database, { leaseSeconds: 30, databaseRespondedAt: rows[0].long_ago, graceSeconds: 15, limit: 200 }),
  ).toEqual([]);
  expect(await sweepNow()).toHaveLength(1);
});

test("the sweeper waits for a full lease duration after its start and after a database outage", async () => {
  await openTurnOf(randomUUID(), 60);
  const closed: Settlement[] = [];
  let secondsSinceLastRun = 12;
  const sweeper = new Sweeper(
    db.database,
    30,
    (turns) => closed.push(...turns),
    createLogger("test", "silent"),
    async () => {
      const { now } = await readClock(db.database, undefined);
      return { now, seconds: secondsSinceLastRun };
    },
  );
  for (let run = 0; run < 2; run++) expect(await sweeper.sweepIfSafe()).toBe(0);
  // If the last run was more than half the lease duration ago, the sweeper assumes a database outage, and the wait starts again.
  secondsSinceLastRun = 16;
  expect(await sweeper.sweepIfSafe()).toBe(0);
  secondsSinceLastRun = 10;
  for (let run = 0; run < 2; run++) expect(await sweeper.sweepIfSafe()).toBe(0);
  expect(await sweeper.sweepIfSafe()).toBe(1);
  expect(closed).toHaveLength(1);
});
