import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chat } from "../system/chat.ts";
import { query, readBalance } from "../system/database.ts";
import { metric } from "../system/metrics.ts";
import { createTenant, type System, startSystem } from "../system/system.ts";

const REPLY_MS = 1_500;

/** Sends a message. Locks the turn's row until `lockedMs` after the end of the reply, so that every CloseTurn waits for the lock. */
async function chatWithLockedTurn(system: System, lockedMs: number) {
  const { admin, database } = system;
  const tenant = await createTenant(admin, { model: "openai:tokens-5-every-300" });
  const pendingChat = chat(system.url(), tenant);
  const countStreaming = async () => (await readBalance(database, tenant.workspaceId)).streaming;
  await expect.poll(countStreaming, { interval: 50 }).toBe(1);
  const locker = new pg.Client({ connectionString: database.url });
  await locker.connect();
  await locker.query("BEGIN");
  await locker.query("SELECT FROM conversation.turns WHERE workspace_id = $1 FOR UPDATE", [tenant.workspaceId]);
  await sleep(REPLY_MS + lockedMs);
  await locker.query("ROLLBACK");
  await locker.end();
  const { done } = await pendingChat;
  await expect
    .poll(() => readBalance(database, tenant.workspaceId), { timeout: 15_000 })
    .toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
  const { status } = await query<{ status: string }>(
    database,
    "SELECT status FROM conversation.turns WHERE workspace_id = $1",
    [tenant.workspaceId],
  );
  const { used } = await readBalance(database, tenant.workspaceId);
  return { finishReason: done?.finish_reason, status, used };
}

async function countDoneAfterError(system: System): Promise<number | undefined> {
  const [edge] = system.edges;
  return edge && metric(edge, "parley_turns_done_after_error_total");
}

describe("a reply whose turn is locked", () => {
  let system: System;
  beforeAll(async () => {
    system = await startSystem();
  });
  afterAll(() => system?.stop());

  test.each([
    ["done and counted when the lock ends before the statement timeout", 11_000, "stop", "done", 1],
    ["an error and not counted when the lock ends after the statement timeout", 17_000, "error", "error", 0],
  ])("is %s", async (_, lockedMs, finishReason, status, used) => {
    expect(await chatWithLockedTurn(system, lockedMs)).toEqual({ finishReason, status, used });
    expect(await countDoneAfterError(system)).toBe(0);
  });
});

describe("with a statement timeout longer than the edge assumes", () => {
  let system: System;
  beforeAll(async () => {
    system = await startSystem({
      async prepareDatabase(database) {
        await query(
          database,
          `ALTER ROLE parley_conversation IN DATABASE "${database.name}" SET statement_timeout = '60s'`,
        );
      },
    });
  });
  afterAll(() => system?.stop());

  test("a metric counts each turn that is stored as done after its visitor was sent an error", async () => {
    expect(await chatWithLockedTurn(system, 18_000)).toEqual({ finishReason: "error", status: "done", used: 1 });
    await expect.poll(() => countDoneAfterError(system), { timeout: 10_000 }).toBe(1);
  });
});
