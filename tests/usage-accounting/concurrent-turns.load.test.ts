import { describeWith, startRedis, type TestRedis } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPlan, readBalance } from "../system/database.ts";
import { createTenant, type System, startSystem } from "../system/system.ts";
import { countOutcomes, TRUST_FORWARDED_FOR, visit } from "../system/visitors.ts";

describeWith("redis", "three edges that serve one workspace", () => {
  let redis: TestRedis;
  let system: System;
  beforeAll(async () => {
    redis = await startRedis();
    system = await startSystem({ edges: 3, redisUrl: redis.url, env: { edge: TRUST_FORWARDED_FOR } });
    await createPlan(system.database, "cap-25", 25);
  });
  afterAll(async () => {
    await system?.stop();
    await redis.stop();
  });

  test("answer 25 of 1,000 concurrent messages when the quota has 25 left, and refuse the rest without a provider call", async () => {
    const tenant = await createTenant(system.admin, { plan: "cap-25" });
    const visits = await Promise.all(Array.from({ length: 1_000 }, (_, i) => visit(system.url(i % 3), tenant)));
    expect(countOutcomes(visits)).toEqual({ stop: 25, quota_exceeded: 975 });
    for (const result of visits) {
      if (result.kind !== "stream" || result.finishReason !== "quota_exceeded") continue;
      expect(result.chat.error).toMatchObject({ code: "quota_exceeded", plan: "cap-25", used: 25, cap: 25 });
    }
    expect(system.provider.requests).toHaveLength(25);
    await expect
      .poll(() => readBalance(system.database), { timeout: 30_000, interval: 200 })
      .toEqual({ done: 25, used: 25, ledger: 25, held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
  });
});
