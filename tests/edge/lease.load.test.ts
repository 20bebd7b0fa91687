import { setTimeout as sleep } from "node:timers/promises";
import { startTcpProxy } from "@parley/test-support";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type System, startSystem } from "../system/system.ts";

const LEASE_SECONDS = 3;

let system: System;
beforeAll(async () => {
  system = await startSystem({ env: { conversation: { EDGE_LEASE_SECONDS: String(LEASE_SECONDS) } } });
});
afterAll(() => system?.stop());

test("an edge cut off from conversation is not ready after one lease, and is ready within 3 s once it reaches conversation again", async () => {
  const proxy = await startTcpProxy({ targetPort: system.conversation.port });
  const edge = await system.startEdge({ CONVERSATION_TARGET: `127.0.0.1:${proxy.port}` });
  const readyStatus = async () => (await fetch(`http://127.0.0.1:${edge.port}/healthz/ready`)).status;
  expect(await readyStatus()).toBe(200);
  await proxy.drop();
  await expect.poll(readyStatus, { timeout: (LEASE_SECONDS + 2) * 1_000 }).toBe(503);
  await proxy.resume();
  await expect.poll(readyStatus, { timeout: 3_000 }).toBe(200);
  await edge.stop();
  await proxy.close();
});

test("an edge stays ready while conversation responds but cannot store leases", async () => {
  const locker = new pg.Client({ connectionString: system.database.url });
  await locker.connect();
  await locker.query("BEGIN; LOCK TABLE conversation.edges IN EXCLUSIVE MODE");
  for (let second = 0; second < 3 * LEASE_SECONDS; second++) {
    expect((await fetch(`${system.url()}/healthz/ready`)).status).toBe(200);
    await sleep(1_000);
  }
  await locker.query("ROLLBACK");
  await locker.end();
});
