import { isRequirementMet, startRedis, type TestRedis } from "@parley/test-support";
import { createTenant, failFastSettings, type System, startSystem, type Tenant } from "../system/system.ts";
import { TRUST_FORWARDED_FOR } from "../system/visitors.ts";
import { scriptedFaults } from "./scripted-faults.ts";

/**
 * A system with three edges, and a tenant. The edges trust the tests as their proxy. If the requirement redis-server is met, the edges share
 * one Redis.
 */
export type EdgeFixture = {
  system: System;
  tenant: Tenant;
  /** Its methods throw if the requirement redis-server is not met. */
  redis: { pause(): void; resume(): void; kill(): Promise<void>; restart(): Promise<void> };
  stop(): Promise<void>;
};

export async function startEdgeFixture(): Promise<EdgeFixture> {
  let redisServer = isRequirementMet("redis-server") ? await startRedis() : undefined;
  const redis = (): TestRedis => {
    if (redisServer === undefined)
      throw new Error('the requirement redis-server is not met: wrap the suite in describeWith("redis-server")');
    return redisServer;
  };
  const system = await startSystem({
    edges: 3,
    ...(redisServer && { redisUrl: redisServer.url }),
    script: scriptedFaults,
    env: { edge: TRUST_FORWARDED_FOR },
    // To keep the tests short, the provider `hasty` times out after one second of silence instead of the default twenty.
    llmConfig: (base_url) => ({
      default_model: "openai:default",
      providers: {
        // `max_active` must be above the number of concurrent slow readers.
        openai: { base_url, api_key_env: "OPENAI_API_KEY", concurrency: { max_active: 1_000 } },
        hasty: {
          base_url,
          api_key_env: "OPENAI_API_KEY",
          ...failFastSettings(1_000),
        },
      },
    }),
  });
  return {
    system,
    tenant: await createTenant(system.admin, { plan: "scale" }),
    redis: {
      pause: () => redis().pause(),
      resume: () => redis().resume(),
      kill: () => redis().kill(),
      async restart() {
        redisServer = await startRedis({ port: Number(new URL(redis().url).port) });
      },
    },
    async stop() {
      await system.stop();
      await redisServer?.stop();
    },
  };
}
