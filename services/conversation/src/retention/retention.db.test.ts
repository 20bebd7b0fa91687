import { create } from "@bufbuild/protobuf";
import { GetWorkspaceResponseSchema } from "@parley/rpc/quota";
import { createLogger } from "@parley/service-kit";
import { statementsOf } from "@parley/service-kit/testing";
import { expect, test } from "vitest";
import { useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { eraseExpired } from "./retention.worker.ts";

const system = useTestSystem();

function erase(signal = new AbortController().signal, database = system.database) {
  const { quota } = system;
  return eraseExpired(
    {
      database,
      quota: {
        getWorkspace: async ({ workspaceId = "" }) =>
          create(GetWorkspaceResponseSchema, {
            workspace: { retentionDays: quota.retentionDays.get(workspaceId) ?? 0 },
          }),
      },
      onClosed: () => undefined,
      log: createLogger("test", "silent"),
    },
    signal,
  );
}

async function session(days: number, workspace: Awaited<ReturnType<typeof createBot>>) {
  const turn = newTurn(workspace);
  await runTurn(system.database, turn);
  await system.admin.query(
    "UPDATE conversation.sessions SET last_activity_at = now() - make_interval(days => $2) WHERE session_id = $1",
    [turn.sessionId, days],
  );
  return turn;
}

const messagesOf = async (turn: { sessionId: string }) =>
  (await system.admin.query("SELECT FROM conversation.messages WHERE session_id = $1", [turn.sessionId])).rowCount;

test("conversations older than their workspace keeps them are erased, and their turns stay counted", async () => {
  const [strict, lasting] = [await createBot(system.database), await createBot(system.database)];
  system.quota.retentionDays.set(strict.workspaceId, 30);
  const [old, young, kept] = [await session(31, strict), await session(29, strict), await session(400, lasting)];
  expect(await erase()).toBe(1);
  expect(await messagesOf(old)).toBe(0);
  expect([await messagesOf(young), await messagesOf(kept)]).toEqual([2, 2]);
  const { rows } = await system.admin.query("SELECT status FROM conversation.turns WHERE turn_id = $1", [old.turnId]);
  expect(rows).toEqual([{ status: "done" }]);
  expect(await erase()).toBe(0);
});

test("more than one batch is erased in one go, one conversation a transaction and at most fifty between two pauses", async () => {
  const bot = await createBot(system.database);
  system.quota.retentionDays.set(bot.workspaceId, 1);
  for (let i = 0; i < 60; i++) await session(2, bot);
  const at: number[] = [];
  const counts: number[] = [];
  const statements = await statementsOf(system.database, async (database) => {
    const began = performance.now();
    counts.push(await erase(undefined, database));
    at.push(performance.now() - began);
  });
  expect(counts).toEqual([60]);
  expect(at[0]).toBeGreaterThan(99);
  const lists = statements.filter(
    ({ text, values }) => text.includes("ORDER BY last_activity_at") && values[0] === bot.workspaceId,
  );
  expect(lists.map(({ values }) => values.slice(1))).toEqual([
    [1, 50],
    [1, 50],
  ]);
  const deletions = statements.filter(({ text }) => text.includes("DELETE FROM conversation.messages"));
  expect(new Set(deletions.map(({ values }) => values[1])).size).toBe(60);
  expect(deletions).toHaveLength(60);
});

test("a process that stops leaves the rest to the next run", async () => {
  const bot = await createBot(system.database);
  system.quota.retentionDays.set(bot.workspaceId, 1);
  for (let i = 0; i < 3; i++) await session(2, bot);
  expect(await erase(AbortSignal.abort())).toBe(0);
  expect(await erase()).toBe(3);
});
