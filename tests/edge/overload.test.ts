import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat, postChat } from "../system/chat.ts";
import { queryFirstRow, waitUntilSettled } from "../system/database.ts";
import { createTenant, type System, startSystem } from "../system/system.ts";

let system: System;
beforeAll(async () => {
  system = await startSystem({ env: { conversation: { DATABASE_POOL: "2" } } });
});
afterAll(() => system?.stop());

test("new messages get 503 overloaded with Retry-After while earlier ones have waited 5 s for the database, and replies later", async () => {
  const tenant = await createTenant(system.admin);
  expect((await chat(system.url(), tenant)).done?.finish_reason).toBe("stop");
  const locker = new pg.Client({ connectionString: system.database.url });
  await locker.connect();
  await locker.query("BEGIN; LOCK TABLE conversation.sessions IN EXCLUSIVE MODE");
  const waiting = Array.from({ length: 10 }, () => chat(system.url(), tenant));
  // Longer than 5 s, and less than the 10 s after which the waiting messages would be refused too.
  await sleep(7_000);
  const startedAt = performance.now();
  const refused = await postChat(system.url(), tenant);
  expect(performance.now() - startedAt).toBeLessThan(1_000);
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("2");
  expect(await refused.json()).toEqual({ error: "overloaded" });
  await locker.query("ROLLBACK");
  await locker.end();
  const replies = await Promise.all(waiting);
  expect(replies.map(({ done }) => done?.finish_reason)).toEqual(Array(10).fill("stop"));
  expect((await chat(system.url(), tenant)).done?.finish_reason).toBe("stop");
  expect(await waitUntilSettled(system.database, 15_000)).toMatchObject({ done: 12, used: 12, held: 0, unbalanced: 0 });
});

test("messages that were refused after 10 s without a connection to the database open no turns later", async () => {
  const tenant = await createTenant(system.admin);
  expect((await chat(system.url(), tenant)).done?.finish_reason).toBe("stop");
  const locker = new pg.Client({ connectionString: system.database.url });
  await locker.connect();
  await locker.query("BEGIN; LOCK TABLE conversation.sessions IN EXCLUSIVE MODE");
  const waiting = await Promise.all(Array.from({ length: 10 }, () => postChat(system.url(), tenant)));
  expect(waiting.map(({ status }) => status)).toEqual(Array(10).fill(503));
  await locker.query("ROLLBACK");
  await locker.end();
  // Connections are given in the order of the calls, so the earlier calls have ended.
  await expect
    .poll(async () => (await chat(system.url(), tenant)).done?.finish_reason, { timeout: 15_000 })
    .toBe("stop");
  const { turns } = await queryFirstRow<{ turns: number }>(
    system.database,
    "SELECT count(*)::integer AS turns FROM conversation.turns WHERE workspace_id = $1 AND status <> 'done'",
    [tenant.workspaceId],
  );
  // The pool has one connection for calls, and its statement may be running when the lock ends.
  expect(turns).toBeLessThanOrEqual(1);
}, 60_000);
