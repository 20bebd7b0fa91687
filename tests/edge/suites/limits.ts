import { setTimeout as sleep } from "node:timers/promises";
import { quickOrFull } from "@parley/test-support";
import { beforeAll, expect, test } from "vitest";
import { postChat } from "../../system/chat.ts";
import { readMetric } from "../../system/metrics.ts";
import { retryIfRedisIsTooSlow } from "../../system/shared-limits.ts";
import { newClientAddress } from "../../system/visitors.ts";
import type { EdgeFixture } from "../edge-fixture.ts";

const WINDOW_MS = 60_000;
/** Twice the limit, so that some requests are refused. */
const MIN_REQUESTS = 120;

export function limitsSuite(shared: () => EdgeFixture): void {
  let fixture: EdgeFixture;
  beforeAll(() => {
    fixture = shared();
  });

  /** Sends a chat from a wrong origin through one edge. Returns its status: 403 if the rate limiter allowed it, 429 if not. */
  async function sendChat(address: string, edge: number): Promise<number> {
    const { system, tenant } = fixture;
    const headers = { "x-forwarded-for": address, origin: "https://elsewhere.example" };
    const response = await postChat(system.url(edge % 3), tenant, {}, { headers });
    await response.text();
    return response.status;
  }

  async function countPasses(count: number, address = newClientAddress()): Promise<number> {
    const statuses = await Promise.all(Array.from({ length: count }, (_, index) => sendChat(address, index)));
    expect(statuses.filter((status) => status !== 403 && status !== 429)).toEqual([]);
    return statuses.filter((status) => status === 403).length;
  }

  async function expectFastDecisions(): Promise<void> {
    const count = quickOrFull(100, 300);
    const times: number[] = [];
    for (let index = 0; index < count; index++) {
      const startedAt = performance.now();
      await sendChat(newClientAddress(), index);
      times.push(performance.now() - startedAt);
    }
    times.sort((a, b) => a - b);
    expect(times[Math.ceil(count * 0.99) - 1]).toBeLessThanOrEqual(100);
  }

  const edges = () => fixture.system.edges.slice(0, 3);

  const readFallbacks = () => Promise.all(edges().map((edge) => readMetric(edge, "parley_rate_limiter_on_fallback")));

  test("allows exactly 60 of 600 concurrent requests from one address through three edges", async () => {
    expect(await retryIfRedisIsTooSlow(edges(), () => countPasses(600))).toBe(60);
    expect(await readFallbacks()).toEqual([0, 0, 0]);
  });

  /** Returns the times of the requests that the limiter allowed. */
  async function sendRepeatedly(): Promise<{ from: number; to: number }[]> {
    const address = newClientAddress();
    const until = performance.now() + quickOrFull(3_000, 150_000);
    const passes: { from: number; to: number }[] = [];
    for (let attempt = 0; performance.now() < until || attempt < MIN_REQUESTS; attempt++) {
      const from = performance.now();
      if ((await sendChat(address, attempt)) === 403) passes.push({ from, to: performance.now() });
      await sleep(20);
    }
    return passes;
  }

  test("allows at most 60 requests in any window of 60 seconds", async () => {
    const passes = await retryIfRedisIsTooSlow(edges(), sendRepeatedly);
    // In a sliding window, an allowed request is at least WINDOW_MS later than the 60th allowed request before it.
    for (const [index, { from }] of passes.entries()) {
      const later = passes[index + 60];
      if (later !== undefined) expect(later.to - from).toBeGreaterThanOrEqual(WINDOW_MS);
    }
    expect(passes.length).toBeGreaterThanOrEqual(60);
  });

  test("each edge limits requests alone, without delay, while Redis is paused", async () => {
    fixture.redis.pause();
    try {
      await expectFastDecisions();
      expect(await countPasses(300)).toBe(180);
      expect(await readFallbacks()).toEqual([1, 1, 1]);
    } finally {
      fixture.redis.resume();
    }
    await expect.poll(() => countPasses(90), { timeout: 5_000 }).toBe(60);
  });

  test("each edge limits requests alone after Redis is killed, and the edges share the limit after it restarts", async () => {
    await fixture.redis.kill();
    await expectFastDecisions();
    expect(await countPasses(300)).toBe(180);
    expect(await readFallbacks()).toEqual([1, 1, 1]);
    await fixture.redis.restart();
    await expect.poll(() => countPasses(90), { timeout: 10_000 }).toBe(60);
    expect(await readFallbacks()).toEqual([0, 0, 0]);
  });
}
