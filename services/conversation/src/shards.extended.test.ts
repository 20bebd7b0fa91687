import { expect, test } from "vitest";
import { addTurns, startShardedService } from "./testing/shards.ts";
import { findTurnResult } from "./turns/close-turn.store.ts";

const TIMEOUT = { timeout: 40_000, interval: 100 };

test("each shard's turns are swept and settled with the shard's number, also while another shard is away", async () => {
  const { first, second, quota, isReady, metrics } = await startShardedService({ EDGE_LEASE_SECONDS: "10" });
  await expect.poll(isReady, TIMEOUT).toBe(true);
  const added = [await addTurns(first), await addTurns(second)];
  const shards = () =>
    added.flatMap(({ closed, abandoned }) => [closed, abandoned].map((id) => quota.shardByTurn.get(id)));
  await expect.poll(shards, TIMEOUT).toEqual([0, 0, 1, 1]);
  const { workspaceId = "", abandoned = "" } = added[1] ?? {};
  expect((await findTurnResult(second.database, workspaceId, abandoned))?.status).toBe("interrupted");

  const waiting = await addTurns(second);
  await second.stop();
  const settled = await addTurns(first);
  await expect.poll(() => quota.shardByTurn.get(settled.closed), TIMEOUT).toBe(0);
  await expect.poll(() => quota.shardByTurn.get(settled.abandoned), TIMEOUT).toBe(0);
  await expect.poll(metrics, TIMEOUT).toMatch(/^parley_outbox_depth\{shard="1".*\} NaN$/im);
  expect(await metrics()).toMatch(/^parley_outbox_depth\{shard="0".*\} 0$/m);
  expect(await isReady()).toBe(true);

  await second.resume();
  await expect.poll(() => quota.shardByTurn.get(waiting.closed), TIMEOUT).toBe(1);
  await expect.poll(() => quota.shardByTurn.get(waiting.abandoned), TIMEOUT).toBe(1);
}, 150_000);
