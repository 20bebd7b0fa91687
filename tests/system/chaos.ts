import { setTimeout as sleep } from "node:timers/promises";
import { startTestPostgres } from "@parley/test-support";
import { type Balance, createPlan, query, readBalance } from "./books.ts";
import type { ServiceProcess } from "./processes.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system.ts";
import { countEnds, type Seen, TRUST_THE_TESTS, visit } from "./visitors.ts";

export type ChaosOptions = {
  seconds: number;
  visitors: number;
  /** For how long an edge that says nothing more is believed to live. */
  leaseSeconds: number;
  /** After the last kill, how long until everything must be settled. */
  settleWithinMs: number;
  progress: (line: string) => void;
};

export type ChaosResult = Balance & {
  turns: number;
  kills: number;
  /** What the visitors saw, by how it ended. */
  ends: Record<string, number>;
  /** Replies that a visitor saw end well; each must be a done message. */
  seenDone: number;
  providerCalls: number;
};

/**
 * Kills processes at random, as `kill -9` does, while visitors talk: edges, conversation, quota, llm-proxy, and connections of the
 * database, whose server then restarts itself. Whatever dies is started again at once. At the end everything is left in peace until it
 * is settled.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const postgres = await startTestPostgres();
  const quiet = { LOG_LEVEL: "silent" };
  const system = await startSystem({
    edges: 2,
    databaseServerUrl: postgres.url,
    env: {
      edge: { ...TRUST_THE_TESTS, ...quiet },
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
    return await wreck(system, tenants, options);
  } finally {
    await system.stop();
    await postgres.stop();
  }
}

async function wreck(system: System, tenants: readonly Tenant[], options: ChaosOptions): Promise<ChaosResult> {
  const until = performance.now() + options.seconds * 1_000;
  const seen: Seen[] = [];
  let kills = 0;

  const visitor = async (number: number) => {
    for (let turn = number; performance.now() < until; turn++) {
      const tenant = pick(tenants, turn);
      const each = await visit(system.url(turn % system.edges.length), tenant);
      seen.push(each);
      // Who is refused at once would otherwise only spin.
      if (each.kind !== "stream") await sleep(50);
    }
  };

  const services = [...system.edges, system.conversation, system.quota, system.llm];
  const restarts = new Map<ServiceProcess, Promise<void>>();
  const killer = async () => {
    while (performance.now() < until) {
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
      if (kills % 10 === 0) options.progress(`${seen.length} turns, ${kills} kills`);
    }
    await Promise.all(restarts.values());
  };

  await Promise.all([killer(), ...Array.from({ length: options.visitors }, (_, number) => visitor(number))]);
  options.progress(`${seen.length} turns, ${kills} kills; now everything is left in peace`);
  const balance = await settled(system, options.settleWithinMs);
  const ends = countEnds(seen);
  const { stop = 0 } = ends;
  return {
    ...balance,
    turns: seen.length,
    kills,
    ends,
    seenDone: stop,
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

async function settled(system: System, withinMs: number): Promise<Balance> {
  const until = performance.now() + withinMs;
  for (;;) {
    const balance = await readBalance(system.database).catch(() => undefined);
    const isSettled = balance && balance.held === 0 && balance.streaming === 0 && balance.outbox === 0;
    if (balance && (isSettled || performance.now() > until)) return balance;
    await sleep(250);
  }
}
