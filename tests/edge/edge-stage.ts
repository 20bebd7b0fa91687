import { startRedis, type TestRedis } from "@parley/testing";
import { createTenant, type System, startSystem, type Tenant } from "../support/system.ts";
import { TRUST_THE_TESTS } from "../support/visitors.ts";
import { scriptedFaults } from "./scripted-faults.ts";

/** Three edges on one Redis, which trust the tests as their proxy, and a tenant whose model answers at once. */
export type EdgeStage = {
  system: System;
  tenant: Tenant;
  redis: { pause(): void; resume(): void; kill(): Promise<void>; restart(): Promise<void> };
  stop(): Promise<void>;
};

export async function startEdgeStage(): Promise<EdgeStage> {
  let server: TestRedis = await startRedis();
  const { url } = server;
  const system = await startSystem({
    edges: 3,
    redisUrl: url,
    script: scriptedFaults,
    env: { edge: TRUST_THE_TESTS },
    // A provider that may be silent for a second only, so that the tests need not wait for the usual twenty.
    llmConfig: (base_url) => ({
      default_model: "openai:default",
      providers: {
        openai: { base_url, api_key_env: "OPENAI_API_KEY" },
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
      pause: () => server.pause(),
      resume: () => server.resume(),
      kill: () => server.kill(),
      async restart() {
        server = await startRedis({ port: Number(new URL(url).port) });
      },
    },
    async stop() {
      await system.stop();
      await server.stop();
    },
  };
}
