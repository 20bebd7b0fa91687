import { isMet, startRedis, type TestRedis } from "@parley/test-support";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { TRUST_TEST_PROXY } from "../system/visitors.ts";
import { scriptedFaults } from "./scripted-faults.ts";

/** Three edges, which trust the tests as their proxy, on one Redis where the machine has it, and a tenant whose model answers at once. */
export type EdgeStage = {
  system: System;
  tenant: Tenant;
  /** Throws on a machine without one. */
  redis: { pause(): void; resume(): void; kill(): Promise<void>; restart(): Promise<void> };
  stop(): Promise<void>;
};

export async function startEdgeStage(): Promise<EdgeStage> {
  let server = isMet("redis-server") ? await startRedis() : undefined;
  const redis = (): TestRedis => {
    if (server === undefined)
      throw new Error('there is no redis-server here: put the suite into describeWith("redis-server")');
    return server;
  };
  const system = await startSystem({
    edges: 3,
    ...(server && { redisUrl: server.url }),
    script: scriptedFaults,
    env: { edge: TRUST_TEST_PROXY },
    // A provider that may be silent for a second only, so that the tests need not wait for the usual twenty.
    llmConfig: (base_url) => ({
      default_model: "openai:default",
      providers: {
        // More calls at once than readers that read nothing.
        openai: { base_url, api_key_env: "OPENAI_API_KEY", concurrency: { max_active: 1_000 } },
        hasty: {
          base_url,
          api_key_env: "OPENAI_API_KEY",
          timeouts: { first_token_ms: 1_000, silence_ms: 1_000 },
          retries: { max_attempts: 2, base_delay_ms: 10 },
          breaker: { failures: 1_000 },
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
        server = await startRedis({ port: Number(new URL(redis().url).port) });
      },
    },
    async stop() {
      await system.stop();
      await server?.stop();
    },
  };
}
