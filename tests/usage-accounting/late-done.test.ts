import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "../system/chat.ts";
import { query, readBalance } from "../system/database.ts";
import { metric } from "../system/metrics.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";

let system: System;
beforeAll(async () => {
  system = await startSystem({
    // Longer than the edge assumes, so that a CloseTurn that waits for a lock can commit after the edge has sent the error.
    async prepareDatabase(database) {
      await query(
        database,
        `ALTER ROLE parley_conversation IN DATABASE "${database.name}" SET statement_timeout = '60s'`,
      );
    },
  });
});
afterAll(() => system?.stop());

/** Sends a message and holds a row lock on its turn until `lockedMs` after the end of the reply, so that every CloseTurn waits. */
async function chatWithLockedTurn(tenant: Tenant, lockedMs: number) {
  const { database } = system;
  const pendingChat = chat(system.url(), tenant);
  const countStreaming = async () => (await readBalance(database, tenant.workspaceId)).streaming;
  await expect.poll(countStreaming, { interval: 50 }).toBe(1);
  const locker = new pg.Client({ connectionString: database.url });
  await locker.connect();
  await locker.query("BEGIN");
  await locker.query("SELECT FROM conversation.turns WHERE workspace_id = $1 FOR UPDATE", [tenant.workspaceId]);
  // The reply takes 1.5 s.
  await sleep(1_500 + lockedMs);
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
  return { finishReason: done?.finish_reason, status };
}

const countDoneAfterError = async () => {
  const [edge] = system.edges;
  return edge === undefined ? 0 : metric(edge, "parley_turns_done_after_error_total");
};

test("sends no error to the visitor when the turn is stored as done before the statement timeout", async () => {
  const tenant = await createTenant(system.admin, { model: "openai:tokens-5-every-300" });
  expect(await chatWithLockedTurn(tenant, 11_000)).toEqual({ finishReason: "stop", status: "done" });
  expect(await countDoneAfterError()).toBe(0);
});

test("counts in a metric each turn that is stored as done after its visitor was sent an error", async () => {
  const tenant = await createTenant(system.admin, { model: "openai:tokens-5-every-300" });
  expect(await chatWithLockedTurn(tenant, 22_000)).toEqual({ finishReason: "error", status: "done" });
  await expect.poll(countDoneAfterError, { timeout: 10_000 }).toBe(1);
});
