import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { chat, postChat } from "../system/chat.ts";
import { queryFirstRow, waitUntilSettled } from "../system/database.ts";
import { holdLocks } from "../system/hold-locks.ts";
import { readMetric } from "../system/metrics.ts";
import { createTenant, type System, startSystem } from "../system/system.ts";
import { countOutcomes, newClientAddress, outcomeOf, TRUST_FORWARDED_FOR, visit } from "../system/visitors.ts";

const LOCK_USAGE = "SELECT FROM quota.usage WHERE workspace_id = $1 FOR UPDATE";

let system: System;
beforeAll(async () => {
  system = await startSystem({ env: { conversation: { DATABASE_POOL: "2" } } });
});
afterAll(() => system?.stop());

test("new messages get 503 overloaded with Retry-After once earlier ones have waited 5 s for the database; the earlier ones get replies later", async () => {
  const tenant = await createTenant(system.admin);
  expect((await chat(system.url(), tenant)).done?.finish_reason).toBe("stop");
  const unlock = await holdLocks(system.database, "LOCK TABLE conversation.sessions IN EXCLUSIVE MODE");
  const waiting = Array.from({ length: 10 }, () => chat(system.url(), tenant));
  // Longer than 5 s, and less than the 10 s after which the waiting messages would be refused too.
  await sleep(7_000);
  const startedAt = performance.now();
  const refused = await postChat(system.url(), tenant);
  // Earlier than the end of the waiting messages' 10 s.
  expect(performance.now() - startedAt).toBeLessThan(2_500);
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("2");
  expect(await refused.json()).toEqual({ error: "overloaded" });
  await unlock();
  const replies = await Promise.all(waiting);
  expect(replies.map(({ done }) => done?.finish_reason)).toEqual(Array(10).fill("stop"));
  expect((await chat(system.url(), tenant)).done?.finish_reason).toBe("stop");
  expect(await waitUntilSettled(system.database, 15_000)).toMatchObject({ done: 12, used: 12, held: 0, unbalanced: 0 });
});

test("of ten messages that waited 10 s for a database connection and were refused, at most one opens a turn later", async () => {
  const tenant = await createTenant(system.admin);
  expect((await chat(system.url(), tenant)).done?.finish_reason).toBe("stop");
  const unlock = await holdLocks(system.database, "LOCK TABLE conversation.sessions IN EXCLUSIVE MODE");
  const waiting = await Promise.all(Array.from({ length: 10 }, () => postChat(system.url(), tenant)));
  expect(waiting.map(({ status }) => status)).toEqual(Array(10).fill(503));
  await unlock();
  // The pool serves the calls in the order of their arrival, so the earlier calls have ended once a new chat succeeds.
  await expect
    .poll(async () => (await chat(system.url(), tenant)).done?.finish_reason, { timeout: 15_000 })
    .toBe("stop");
  const { turns } = await queryFirstRow<{ turns: number }>(
    system.database,
    "SELECT count(*)::integer AS turns FROM conversation.turns WHERE workspace_id = $1 AND status <> 'done'",
    [tenant.workspaceId],
  );
  // With DATABASE_POOL 2, all OpenTurn calls share one connection. The statement that uses it waits for the lock, and may still run when the
  // lock is released.
  expect(turns).toBeLessThanOrEqual(1);
}, 60_000);

test("a message that waits for its workspace's earlier messages opens no turn if its visitor leaves", async () => {
  const system = await startSystem({ env: { edge: TRUST_FORWARDED_FOR } });
  onTestFinished(() => system.stop());
  const [edge] = system.edges;
  if (edge === undefined) throw new Error("the system has no edge");
  const tenant = await createTenant(system.admin);
  expect((await chat(system.url(), tenant)).done?.finish_reason).toBe("stop");
  const unlock = await holdLocks(system.database, LOCK_USAGE, [tenant.workspaceId]);
  const countTurns = () =>
    queryFirstRow<{ turns: number }>(system.database, "SELECT count(*)::integer AS turns FROM conversation.turns");
  // As many turns as a workspace may start concurrently, so that the next ones wait.
  const started = Array.from({ length: 64 }, () => visit(system.url(), tenant));
  await expect.poll(countTurns, { timeout: 8_000 }).toEqual({ turns: 65 });
  const visitors = new AbortController();
  const abandoned = Array.from({ length: 40 }, async (_, n) => {
    const headers = { "x-forwarded-for": newClientAddress(), ...(n % 2 === 0 && { "idempotency-key": randomUUID() }) };
    await expect(postChat(system.url(), tenant, {}, { headers, signal: visitors.signal })).rejects.toThrow("abort");
  });
  const countWaiting = () => readMetric(edge, "parley_turns_waiting_to_start");
  await expect.poll(countWaiting, { timeout: 5_000 }).toBe(40);
  visitors.abort();
  await Promise.all(abandoned);
  await expect.poll(countWaiting, { timeout: 5_000 }).toBe(0);
  const live = visit(system.url(), tenant);
  await unlock();
  const visits = await Promise.all([...started, live]);
  // Only the kind is checked: on a slow machine, some turns have waited for the lock for 10 s, and their streams end with an error.
  expect(visits.map(({ kind }) => kind)).toEqual(Array(65).fill("stream"));
  expect(await waitUntilSettled(system.database, 15_000)).toMatchObject({ held: 0, unbalanced: 0 });
  expect(await countTurns()).toEqual({ turns: 66 });
}, 60_000);

test("if a workspace's usage row is locked, 64 of its messages start, 1,000 wait and further ones get 503, and another workspace gets replies", async () => {
  const system = await startSystem({
    env: { edge: TRUST_FORWARDED_FOR },
    // The provider serves all messages concurrently.
    llmConfig: (base_url) => ({
      default_model: "openai:default",
      providers: { openai: { base_url, api_key_env: "OPENAI_API_KEY", concurrency: { max_active: 2_000 } } },
    }),
  });
  onTestFinished(() => system.stop());
  const [stuck, other] = await Promise.all([createTenant(system.admin), createTenant(system.admin)]);
  expect((await chat(system.url(), stuck)).done?.finish_reason).toBe("stop");
  expect((await chat(system.url(), other)).done?.finish_reason).toBe("stop");
  const unlock = await holdLocks(system.database, LOCK_USAGE, [stuck.workspaceId]);
  const ended: string[] = [];
  const visits = Array.from({ length: 1_100 }, async () => {
    const result = await visit(system.url(), stuck);
    ended.push(outcomeOf(result));
    return result;
  });
  // Of the 1,100 messages, 64 start, 1,000 wait, and 36 are refused.
  await expect.poll(() => ended, { timeout: 8_000 }).toEqual(Array(36).fill("503"));
  expect((await chat(system.url(), other)).done?.finish_reason).toBe("stop");
  await unlock();
  const { stop = 0, 503: refused = 0, ...others } = countOutcomes(await Promise.all(visits));
  expect(others).toEqual({});
  // On a slow machine, the last messages have waited for 10 s, and get 503.
  expect([stop + refused, stop > 500]).toEqual([1_100, true]);
}, 60_000);
