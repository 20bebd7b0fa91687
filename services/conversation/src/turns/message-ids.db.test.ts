import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { findOpenedTurn, type NewTurn, openTurn } from "./open-turn.store.ts";
import { findTurnRecord } from "./turn-record.store.ts";

let db: TestDatabase;
let bot: Bot;
beforeAll(async () => {
  db = await createTestDatabase();
  bot = await createBot(db.database);
});
afterAll(() => db.drop());

async function idsOf(sessionId: string): Promise<number[]> {
  const { rows } = await db.database.query<{ id: number }>(
    "SELECT message_id AS id FROM conversation.messages WHERE workspace_id = $1 AND session_id = $2 ORDER BY created_at, message_id",
    [bot.workspaceId, sessionId],
  );
  return rows.map(({ id }) => id);
}

async function open(turn: NewTurn = newTurn(bot)): Promise<number> {
  const opened = await openTurn(db.database, turn);
  if (opened === undefined) throw new Error("the turn was not opened");
  return opened.messageId;
}

/** Checks that ids rise with time, that a turn's two ids are adjacent, that replies have even ids, and that all ids are safe integers. */
function expectRisingIdPairs(ids: readonly number[], turnCount: number): void {
  expect(ids).toHaveLength(turnCount * 2);
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  expect(ids.every(Number.isSafeInteger)).toBe(true);
  const replies = ids.filter((_, index) => index % 2 === 1);
  expect(replies.map((id) => id % 2)).toEqual(replies.map(() => 0));
  expect(ids.filter((_, index) => index % 2 === 0)).toEqual(replies.map((id) => id - 1));
}

describe("message ids", () => {
  test("reveal nothing about other sessions to a visitor", async () => {
    const firstIds: number[] = [];
    for (let i = 0; i < 30; i++) firstIds.push(await open());
    // The first ids of two sessions are random between 2^50 and 2^52, so they practically never differ by less than 2^24.
    const distances = firstIds.slice(1).map((id, index) => Math.abs(id - (firstIds[index] ?? 0)));
    expect(Math.min(...distances)).toBeGreaterThan(2 ** 24);
    expect(firstIds).not.toEqual(firstIds.toSorted((a, b) => a - b));
  });

  test("rise within a session by random even steps", async () => {
    const sessionId = randomUUID();
    const replies: number[] = [];
    for (let i = 0; i < 30; i++) replies.push(await runTurn(db.database, newTurn(bot, { sessionId })));
    expectRisingIdPairs(await idsOf(sessionId), 30);
    const steps = replies.slice(1).map((id, index) => id - (replies[index] ?? 0));
    expect(new Set(steps).size).toBeGreaterThan(20);
    expect(Math.max(...steps)).toBeLessThanOrEqual(2 ** 20);
  });

  test("rise when a hundred turns of a session open concurrently, and each turn's two ids are adjacent", async () => {
    const sessionId = randomUUID();
    await Promise.all(Array.from({ length: 100 }, () => open(newTurn(bot, { sessionId }))));
    expectRisingIdPairs(await idsOf(sessionId), 100);
  });

  test("are unique within a workspace: OpenTurn chooses again if the id is taken", async () => {
    const choices = [
      { start: 2n ** 51n, step: 2 },
      { start: 2n ** 51n, step: 2 },
      { start: 2n ** 51n + 8n, step: 2 },
    ];
    const choose = () => choices.shift() ?? { start: 0n, step: 0 };
    const turns = [newTurn(bot), newTurn(bot)];
    for (const turn of turns) await openTurn(db.database, turn, choose);
    const openedTurns = await Promise.all(
      turns.map(({ turnId }) => findOpenedTurn(db.database, bot.workspaceId, turnId)),
    );
    expect(openedTurns.map((turn) => turn?.messageId)).toEqual([2 ** 51, 2 ** 51 + 8]);
    for (const [index, { turnId }] of turns.entries())
      expect(await findTurnRecord(db.database, bot.workspaceId, openedTurns[index]?.messageId ?? 0)).toMatchObject({
        turnId,
      });
  });

  test("may be equal in two workspaces, and each workspace finds its own turn", async () => {
    const otherBot = await createBot(db.database);
    const choose = () => ({ start: 2n ** 51n + 64n, step: 2 });
    const turns = [newTurn(bot), newTurn(otherBot)];
    for (const turn of turns) {
      const opened = await openTurn(db.database, turn, choose);
      expect(opened?.messageId).toBe(2 ** 51 + 64);
    }
    for (const { workspaceId, turnId } of turns)
      expect(await findTurnRecord(db.database, workspaceId, 2 ** 51 + 63)).toMatchObject({ turnId });
  });
});
