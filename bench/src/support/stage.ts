import { fileURLToPath } from "node:url";
import {
  freePort,
  nodeFlags,
  type RunningProcess,
  startProcess,
  startRedis,
  startTestPostgres,
} from "@parley/test-support";
import {
  createTenant,
  type System,
  type SystemOptions,
  startSystem,
  type Tenant,
} from "../../../tests/system/system.ts";
import { query } from "./sql.ts";

/** Both sides of every comparison, up at once: Parley as it runs in a cluster, and the bare relay, before the same provider. */
export type Stage = {
  system: System;
  tenant: Tenant;
  relay: RunningProcess;
  relayUrl: string;
  redisUrl: string;
  /** The processes that a turn goes through, Parley's four services. */
  servicePids(): number[];
  stop(): Promise<void>;
};

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
/** Without an end, so that no bench runs into it. */
export const BENCH_PLAN = "bench";

type StageOptions = Pick<SystemOptions, "env" | "llmConfig">;

/**
 * @param model what the provider is to do, e.g. `tokens-100` or `tokens-100-every-50`.
 * @param options on top of what the services get.
 */
export async function setStage(model: string, options: StageOptions = {}): Promise<Stage> {
  const redis = await startRedis();
  try {
    const stage = await setStageOn(redis.url, model, options);
    return { ...stage, stop: () => stage.stop().finally(() => redis.stop()) };
  } catch (error) {
    await redis.stop();
    throw error;
  }
}

async function setStageOn(redisUrl: string, model: string, options: StageOptions): Promise<Stage> {
  const postgres = await startTestPostgres();
  const system = await startSystem({
    databaseServerUrl: postgres.url,
    redisUrl,
    ...options,
    env: {
      ...options.env,
      // Every caller has an address of its own, as visitors have.
      edge: { TRUSTED_PROXIES: "127.0.0.0/8", LOG_LEVEL: "info", ...options.env?.edge },
    },
  });
  await addPlanWithoutEnd(system.database.url);
  const tenant = await createTenant(system.admin, { plan: BENCH_PLAN, model: `openai:${model}` });

  const port = await freePort();
  const relay = await startProcess({
    name: "bare relay",
    command: process.execPath,
    args: [...nodeFlags, here("../subjects/bare-relay.ts")],
    env: { PORT: String(port), OPENAI_BASE_URL: system.provider.url },
    ready: /listening/,
  });
  await relay.waitReady();
  return {
    system,
    tenant,
    relay,
    redisUrl,
    relayUrl: `http://127.0.0.1:${port}/chat`,
    servicePids: () =>
      [...system.edges, system.conversation, system.quota, system.llm].map((service) => service.process().pid),
    async stop() {
      await relay.kill9();
      await system.stop();
      await postgres.stop();
    },
  };
}

async function addPlanWithoutEnd(url: string): Promise<void> {
  await query(url, "INSERT INTO quota.plans (plan, monthly_cap) VALUES ($1, 1000000000)", [BENCH_PLAN]);
}
