import { describeWith, startRedis, type TestRedis } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPlan, readBalance } from "../system/books.ts";
import { createTenant, type System, startSystem } from "../system/system.ts";
import { countEnds, TRUST_THE_TESTS, visit } from "../system/visitors.ts";

describeWith("redis", "three edges before one workspace", () => {
  let redis: TestRedis;
  let system: System;
  beforeAll(async () => {
    redis = await startRedis();
    system = await startSystem({ edges: 3, redisUrl: redis.url, env: { edge: TRUST_THE_TESTS } });
    await createPlan(system.database, "cap-25", 25);
  });
  afterAll(async () => {
    await system?.stop();
    await redis.stop();
  });

  test("a thousand messages at once with 25 left: 25 are answered, 975 hear that the quota is used up, 25 calls were paid for", async () => {
    const tenant = await createTenant(system.admin, { plan: "cap-25" });
    const seen = await Promise.all(Array.from({ length: 1_000 }, (_, i) => visit(system.url(i % 3), tenant)));
    expect(countEnds(seen)).toEqual({ stop: 25, quota_exceeded: 975 });
    for (const each of seen) {
      if (each.kind !== "stream" || each.finish !== "quota_exceeded") continue;
      expect(each.result.error).toMatchObject({ code: "quota_exceeded", plan: "cap-25", used: 25, cap: 25 });
    }
    expect(system.provider.requests).toHaveLength(25);
    await expect
      .poll(() => readBalance(system.database), { timeout: 10_000, interval: 200 })
      .toEqual({
        done: 25,
        used: 25,
        ledger: 25,
        held: 0,
        streaming: 0,
        outbox: 0,
        unbalanced: 0,
      });
  });
});
