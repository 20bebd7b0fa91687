import { setTimeout as sleep } from "node:timers/promises";
import { figure } from "@parley/test-support";
import { beforeAll, expect, test } from "vitest";
import { postChat } from "../../system/chat.ts";
import { metric } from "../../system/metrics.ts";
import { newAddress } from "../../system/visitors.ts";
import type { EdgeStage } from "../edge-stage.ts";

const WINDOW_MS = 60_000;

export function limitsSuite(shared: () => EdgeStage): void {
  let stage: EdgeStage;
  beforeAll(() => {
    stage = shared();
  });

  /** The status of a chat from an address, through one of the edges: 403 for the wrong origin when it was let through. */
  async function knock(address: string, edge: number): Promise<number> {
    const { system, tenant } = stage;
    const headers = { "x-forwarded-for": address, origin: "https://elsewhere.example" };
    const response = await postChat(system.url(edge % 3), tenant, {}, { headers });
    await response.text();
    return response.status;
  }

  async function passesOf(count: number, address = newAddress()): Promise<number> {
    const statuses = await Promise.all(Array.from({ length: count }, (_, index) => knock(address, index)));
    expect(statuses.filter((status) => status !== 403 && status !== 429)).toEqual([]);
    return statuses.filter((status) => status === 403).length;
  }

  /** How long an edge takes to decide, one question after another. */
  async function expectInTime(): Promise<void> {
    const count = figure(100, 300);
    const times: number[] = [];
    for (let index = 0; index < count; index++) {
      const startedAt = performance.now();
      await knock(newAddress(), index);
      times.push(performance.now() - startedAt);
    }
    times.sort((a, b) => a - b);
    expect(times[Math.ceil(count * 0.99) - 1]).toBeLessThanOrEqual(100);
  }

  const onFallback = () =>
    Promise.all(stage.system.edges.slice(0, 3).map((edge) => metric(edge, "parley_rate_limiter_on_fallback")));

  const decidedAlone = async () => {
    const counts = stage.system.edges
      .slice(0, 3)
      .map((edge) => metric(edge, "parley_rate_limiter_local_decisions_total"));
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  };

  /** What passes while Redis answers; a machine that is overrun may make it miss its 50 ms, and then this is asked again. */
  async function passesTogether(work: () => Promise<number>): Promise<number> {
    for (let attempt = 0; ; attempt++) {
      const before = await decidedAlone();
      const passes = await work();
      if ((await decidedAlone()) === before || attempt === 10) return passes;
    }
  }

  test("of 600 requests at once from one address, over three edges, exactly 60 pass", async () => {
    expect(await passesTogether(() => passesOf(600))).toBe(60);
    expect(await onFallback()).toEqual([0, 0, 0]);
  });

  test("in no window of 60 seconds do more than 60 pass, however the requests are spread", async () => {
    const address = newAddress();
    const until = performance.now() + figure(3_000, 150_000);
    const passes: { from: number; to: number }[] = [];
    for (let turn = 0; performance.now() < until; turn++) {
      const from = performance.now();
      if ((await knock(address, turn)) === 403) passes.push({ from, to: performance.now() });
      await sleep(20);
    }
    // The 61st pass after any other was let through more than a window later.
    for (const [index, { from }] of passes.entries()) {
      const later = passes[index + 60];
      if (later !== undefined) expect(later.to - from).toBeGreaterThanOrEqual(WINDOW_MS);
    }
    expect(passes.length).toBeGreaterThanOrEqual(60);
  });

  test("while Redis is paused each edge limits alone, and decides in time", async () => {
    stage.redis.pause();
    try {
      await expectInTime();
      expect(await passesOf(300)).toBe(180);
      expect(await onFallback()).toEqual([1, 1, 1]);
    } finally {
      stage.redis.resume();
    }
    await expect.poll(() => passesOf(90), { timeout: 5_000 }).toBe(60);
  });

  test("once Redis is killed each edge limits alone, and together again when it is back", async () => {
    await stage.redis.kill();
    await expectInTime();
    expect(await passesOf(300)).toBe(180);
    expect(await onFallback()).toEqual([1, 1, 1]);
    await stage.redis.restart();
    await expect.poll(() => passesOf(90), { timeout: 10_000 }).toBe(60);
    expect(await onFallback()).toEqual([0, 0, 0]);
  });
}
