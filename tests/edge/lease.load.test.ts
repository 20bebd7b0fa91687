import { setTimeout as sleep } from "node:timers/promises";
import { startTcpProxy } from "@parley/test-support";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { postChat } from "../system/chat.ts";
import { holdLocks } from "../system/hold-locks.ts";
import { createTenant, type System, startSystem } from "../system/system.ts";

const LEASE_SECONDS = 3;

let system: System;
beforeAll(async () => {
  system = await startSystem({ env: { conversation: { EDGE_LEASE_SECONDS: String(LEASE_SECONDS) } } });
});
afterAll(() => system?.stop());

const readyStatus = async (port: number) => (await fetch(`http://127.0.0.1:${port}/healthz/ready`)).status;

/** Starts an edge that reaches each service through a proxy. Stops the edge and the proxies when the test ends. */
async function startProxiedEdge() {
  const targets = {
    CONVERSATION_TARGET: system.conversation.port,
    QUOTA_TARGET: system.quota.port,
    LLM_TARGET: system.llm.port,
  };
  const proxies = await Promise.all(Object.values(targets).map((targetPort) => startTcpProxy({ targetPort })));
  onTestFinished(async () => {
    for (const proxy of proxies) await proxy.close();
  });
  const names = Object.keys(targets);
  const proxiedTargets = Object.fromEntries(proxies.map(({ port }, index) => [names[index], `127.0.0.1:${port}`]));
  const edge = await system.startEdge(proxiedTargets);
  onTestFinished(() => edge.stop());
  return { edge, proxies };
}

test("an edge cut off from every service for longer than its lease is not ready, and is ready within 3 s once it reaches conversation again", async () => {
  const { edge, proxies } = await startProxiedEdge();
  expect(await readyStatus(edge.port)).toBe(200);
  await Promise.all(proxies.map((proxy) => proxy.drop()));
  await expect.poll(() => readyStatus(edge.port), { timeout: (LEASE_SECONDS + 2) * 1_000 }).toBe(503);
  await proxies[0]?.resume();
  await expect.poll(() => readyStatus(edge.port), { timeout: 3_000 }).toBe(200);
});

test("an edge stays ready and returns 503 unavailable while only conversation is unreachable", async () => {
  const tenant = await createTenant(system.admin);
  const { edge, proxies } = await startProxiedEdge();
  const [conversation] = proxies;
  await conversation?.stall();
  for (let second = 0; second < 3 * LEASE_SECONDS; second++) {
    expect(await readyStatus(edge.port)).toBe(200);
    await sleep(1_000);
  }
  const refused = await postChat(`http://127.0.0.1:${edge.port}`, tenant);
  expect({ status: refused.status, body: await refused.json() }).toMatchObject({
    status: 503,
    body: { error: "unavailable" },
  });
  await conversation?.resume();
  await expect
    .poll(async () => (await postChat(`http://127.0.0.1:${edge.port}`, tenant)).status, { timeout: 10_000 })
    .toBe(200);
});

test("an edge stays ready while conversation responds but cannot store leases", async () => {
  await holdLocks(system.database, "LOCK TABLE conversation.edges IN EXCLUSIVE MODE");
  for (let second = 0; second < 3 * LEASE_SECONDS; second++) {
    expect((await fetch(`${system.url()}/healthz/ready`)).status).toBe(200);
    await sleep(1_000);
  }
});

test.each(["QUOTA_TARGET", "LLM_TARGET"])(
  "an edge is not ready before the service at %s accepts its calls",
  async (name) => {
    // The proxy first connects to the wrong service, as if the variable had a wrong value.
    let targetPort = system.conversation.port;
    const proxy = await startTcpProxy({ targetPort: () => targetPort });
    onTestFinished(() => proxy.close());
    const starting = system.startEdge({ [name]: `127.0.0.1:${proxy.port}` });
    expect(await Promise.race([starting, sleep(4_000, "not ready")])).toBe("not ready");
    targetPort = name === "QUOTA_TARGET" ? system.quota.port : system.llm.port;
    proxy.resetAll();
    await (await starting).stop();
  },
);
