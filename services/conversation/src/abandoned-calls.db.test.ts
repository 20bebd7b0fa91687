import { setTimeout as sleep } from "node:timers/promises";
import { status } from "@parley/rpc";
import { TurnOutcome } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { countLockWaits } from "./testing/database.ts";
import { lockTables } from "./testing/sessions.ts";
import { rpcFailure, useTestSystem } from "./testing/system.ts";
import { createBot, newOpenRequest } from "./testing/turns.ts";

/** The main pool's part of DATABASE_POOL, which is 10 by default. */
const MAIN_CONNECTIONS = 8;

const system = useTestSystem();

test("the service drops an OpenTurn call whose deadline passes before the call gets a database connection", async () => {
  const bot = await createBot(system.database);
  const unlock = await lockTables(system.admin, "conversation.sessions");
  const turns = Array.from({ length: 40 }, () => newOpenRequest(bot));
  const failures = await Promise.all(
    turns.map((turn) => rpcFailure(system.conversation.openTurn(turn, { timeoutMs: 1_000 }))),
  );
  expect(failures.every(({ status: code }) => code === status.DEADLINE_EXCEEDED)).toBe(true);
  const waiting = await countLockWaits(system.admin);
  expect(waiting).toBeGreaterThan(0);
  expect(waiting).toBeLessThanOrEqual(MAIN_CONNECTIONS);
  await unlock();
  await sleep(1_000);
  const { rowCount } = await system.admin.query("SELECT FROM conversation.turns WHERE workspace_id = $1", [
    bot.workspaceId,
  ]);
  // Only the calls that had a database connection before their deadline can have opened a turn.
  expect(rowCount).toBeLessThanOrEqual(waiting);
});

test("the service closes a turn even if the deadline of CloseTurn passes before the call gets a database connection", async () => {
  const bot = await createBot(system.database);
  const turns = Array.from({ length: 5 * MAIN_CONNECTIONS }, () => newOpenRequest(bot));
  for (const turn of turns) await system.conversation.openTurn(turn, { timeoutMs: 5_000 });
  const unlock = await lockTables(system.admin, "conversation.sessions", "conversation.turns");
  const failures = [];
  for (const { workspaceId, turnId } of turns) {
    const request = { workspaceId, turnId, outcome: TurnOutcome.DONE, month: "2026-11" };
    failures.push(rpcFailure(system.conversation.closeTurn(request, { timeoutMs: 500 })));
  }
  for (const failure of await Promise.all(failures)) expect(failure.status).toBe(status.DEADLINE_EXCEEDED);
  await unlock();
  const statuses = async () =>
    (
      await system.admin.query("SELECT DISTINCT status FROM conversation.turns WHERE workspace_id = $1", [
        bot.workspaceId,
      ])
    ).rows;
  await expect.poll(statuses).toEqual([{ status: "done" }]);
});
