import { setTimeout as sleep } from "node:timers/promises";
import { startTestPostgres } from "@parley/test-support";
import { type Balance, createPlan, query, waitUntilSettled } from "./database.ts";
import type { ServiceProcess } from "./processes.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system.ts";
import { countOutcomes, TRUST_TEST_PROXY, type VisitResult, visit } from "./visitors.ts";

export type ChaosOptions = {
  seconds: number;
  visitors: number;
  /** Duration of an edge's lease. */
  leaseSeconds: number;
  /** Maximum time from the last kill until everything is settled. */
  settleTimeoutMs: number;
  progress: (line: string) => void;
};

export type ChaosResult = Balance & {
  turns: number;
  kills: number;
  /** Number of visits by outcome. */
  outcomes: Record<string, number>;
  /** Replies that visitors received to the end. Each must be a done turn. */
  receivedReplies: number;
  providerCalls: number;
};

/**
 * Sends SIGKILL to random services and database connections while visitors chat. Restarts each killed service at once. PostgreSQL
 * restarts itself when the process of a connection is killed. Then waits until every turn is settled.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const postgres = await startTestPostgres();
  const quiet = { LOG_LEVEL: "silent" };
  const system = await startSystem({
    edges: 2,
    databaseServerUrl: postgres.url,
    env: {
      edge: { ...TRUST_TEST_PROXY, ...quiet },
      conversation: { ...quiet, EDGE_LEASE_SECONDS: String(options.leaseSeconds) },
      quota: quiet,
      "llm-proxy": quiet,
    },
  });
  try {
    await createPlan(system.database, "large", 1_000_000);
    await createPlan(system.database, "small", 40);
    const tenants = [
      await createTenant(system.admin, { plan: "large", model: "openai:tokens-100-every-2" }),
      await createTenant(system.admin, { plan: "large", model: "openai:default" }),
      await createTenant(system.admin, { plan: "small", model: "openai:default" }),
      await createTenant(system.admin, { plan: "large", model: "openai:cut-after-3" }),
    ];
    return await killAtRandom(system, tenants, options);
  } finally {
    await system.stop();
    await postgres.stop();
  }
}

async function killAtRandom(system: System, tenants: readonly Tenant[], options: ChaosOptions): Promise<ChaosResult> {
  const deadline = performance.now() + options.seconds * 1_000;
  const visits: VisitResult[] = [];
  let kills = 0;

  const visitor = async (number: number) => {
    for (let turn = number; performance.now() < deadline; turn++) {
      const tenant = pick(tenants, turn);
      const result = await visit(system.url(turn % system.edges.length), tenant);
      visits.push(result);
      // Avoids a busy loop while an edge refuses connections.
      if (result.kind !== "stream") await sleep(50);
    }
  };

  const services = [...system.edges, system.conversation, system.quota, system.llm];
  const restarts = new Map<ServiceProcess, Promise<void>>();
  const killer = async () => {
    while (performance.now() < deadline) {
      await sleep(500 + Math.random() * 2_500);
      const victim = pick(services, Math.floor(Math.random() * services.length));
      if (Math.random() < 0.1) await killDatabaseConnection(system);
      else if (!restarts.has(victim))
        restarts.set(
          victim,
          killAndRestart(victim).finally(() => restarts.delete(victim)),
        );
      else continue;
      kills++;
      if (kills % 10 === 0) options.progress(`${visits.length} turns, ${kills} kills`);
    }
    await Promise.all(restarts.values());
  };

  await Promise.all([killer(), ...Array.from({ length: options.visitors }, (_, number) => visitor(number))]);
  options.progress(`${visits.length} turns, ${kills} kills; waiting for settlement`);
  const balance = await waitUntilSettled(system.database, options.settleTimeoutMs);
  const outcomes = countOutcomes(visits);
  return {
    ...balance,
    turns: visits.length,
    kills,
    outcomes,
    receivedReplies: outcomes.stop ?? 0,
    providerCalls: system.provider.requests.length,
  };
}

function pick<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}

async function killAndRestart(service: ServiceProcess): Promise<void> {
  await service.kill9();
  await service.start();
}

async function killDatabaseConnection(system: System): Promise<void> {
  const { pid } = await query<{ pid: number }>(
    system.database,
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1",
  );
  process.kill(pid, "SIGKILL");
}
