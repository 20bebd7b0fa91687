import { fileURLToPath } from "node:url";
import {
  freePort,
  nodeFlags,
  queryRows,
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
import { TRUST_FORWARDED_FOR, visit } from "../../../tests/system/visitors.ts";

/**
 * Parley's four services as processes, and the bare relay (`../baselines/bare-relay.ts`) that they are compared with. The services and the relay
 * use the same fake provider.
 */
export type Testbed = {
  system: System;
  tenant: Tenant;
  relay: RunningProcess;
  relayUrl: string;
  redisUrl: string;
  servicePids(): number[];
  stop(): Promise<void>;
};

const resolvePath = (path: string) => fileURLToPath(new URL(path, import.meta.url));
/** A plan with a cap that no benchmark reaches. */
export const BENCH_PLAN = "bench";

type TestbedOptions = Pick<SystemOptions, "edges" | "env" | "llmConfig">;

/**
 * Starts Redis, PostgreSQL, Parley and the bare relay. If one of them does not start, stops the others and rejects.
 *
 * @param model name of a model of the fake provider, e.g. `tokens-100` (replies with 100 tokens) or `tokens-100-every-50` (one token every 50 ms)
 */
export async function startTestbed(model: string, options: TestbedOptions = {}): Promise<Testbed> {
  await using resources = new AsyncDisposableStack();
  const redis = resources.adopt(await startRedis(), (started) => started.stop());
  const postgres = resources.adopt(await startTestPostgres(), (started) => started.stop());
  const startedSystem = await startSystem({
    databaseServerUrl: postgres.url,
    redisUrl: redis.url,
    ...options,
    env: {
      ...options.env,
      // The edge trusts X-Forwarded-For, because the load generator sends a new address in each request.
      edge: { ...TRUST_FORWARDED_FOR, LOG_LEVEL: "info", ...options.env?.edge },
    },
  });
  const system = resources.adopt(startedSystem, (started) => started.stop());
  await addBenchPlan(system.database.url);
  const tenant = await createTenant(system.admin, { plan: BENCH_PLAN, model: `openai:${model}` });

  await analyzeTables(system);
  const port = await freePort();
  const startedRelay = await startProcess({
    name: "bare relay",
    command: process.execPath,
    args: [...nodeFlags, resolvePath("../baselines/bare-relay.ts")],
    env: { PORT: String(port), OPENAI_BASE_URL: system.provider.url },
    ready: /listening/,
  });
  const relay = resources.adopt(startedRelay, async (started) => void (await started.kill9()));
  await relay.waitReady();

  const running = resources.move();
  return {
    system,
    tenant,
    relay,
    redisUrl: redis.url,
    relayUrl: `http://127.0.0.1:${port}/chat`,
    servicePids: () =>
      [...system.edges, system.conversation, system.quota, system.llm].map((service) => service.process().pid),
    stop: () => running.disposeAsync(),
  };
}

async function addBenchPlan(url: string): Promise<void> {
  await queryRows(url, "INSERT INTO quota.plans (plan, monthly_cap) VALUES ($1, 1000000000)", [BENCH_PLAN]);
}

const TURNS_BEFORE_ANALYZE = 100;

/**
 * Fills the tables and runs ANALYZE. Otherwise PostgreSQL would use query plans for empty tables for up to a minute. These plans read all turns
 * of a workspace.
 */
async function analyzeTables(system: System): Promise<void> {
  const tenant = await createTenant(system.admin, { plan: BENCH_PLAN, model: "openai:tokens-1" });
  await Promise.all(Array.from({ length: TURNS_BEFORE_ANALYZE }, () => visit(system.url(), tenant)));
  await queryRows(system.database.url, "ANALYZE");
}

/** Returns the pid of the postmaster, which is the parent of PostgreSQL's other processes. */
export async function readPostmasterPid(url: string): Promise<number> {
  const [file] = await queryRows<{ text: string }>(url, "SELECT pg_read_file('postmaster.pid') AS text");
  return Number(file?.text.split("\n")[0]);
}
