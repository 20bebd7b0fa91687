import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { queryRows, startTestPostgres } from "@parley/test-support";
import { createPlan, databasesOf } from "../database.ts";
import type { ServiceProcess } from "../processes.ts";
import { pickByIndex } from "../random.ts";
import { createSystemDatabase, createTenant, type System, startSystem, type Tenant } from "../system.ts";
import { countOutcomes, TRUST_FORWARDED_FOR, type VisitResult, visit } from "../visitors.ts";
import { FaultInjector, type FaultReport, type FaultTarget } from "./chaos-faults.ts";
import { type Reconciled, reconcile } from "./chaos-reconciliation.ts";
import { portsOf, startDatabaseProxies } from "./database-faults.ts";

export type ChaosOptions = {
  seconds: number;
  visitors: number;
  /** How long a visitor pauses after each reply. */
  pauseMs: number;
  edgeLeaseSeconds: number;
  /** Maximum duration of each wait until everything is settled. With `hasDatabaseFaults` the run waits several times. */
  settleTimeoutMs: number;
  /** The run continues beyond `seconds` until there are this many kills. */
  minKills: number;
  /** The run continues beyond `seconds` until there are this many complete replies. */
  minReplies: number;
  /** Whether the database, the network to it and the clocks fail too. Otherwise only processes and connections are killed. */
  hasDatabaseFaults: boolean;
  progress: (line: string) => void;
};

export type ChaosResult = Reconciled & {
  /** Includes refused visits, which open no turn. */
  visits: number;
  kills: number;
  faults: FaultReport[];
  /** Number of visits by outcome. */
  outcomes: Record<string, number>;
  /** Replies that visitors received to the end. Each must be a done turn, or one that a restore of conversation's database lost. */
  receivedReplies: number;
  /** Done turns that restores of conversation's database lost. */
  lostReplies: number;
  /** Number of restores with fewer than 50 replies between the backup and the restore. */
  restoresAfterFewReplies: number;
  providerCalls: number;
};

/**
 * The reconciliation ignores younger turns and holds. Shorter than the default of 2 minutes, so that a run's end takes less time. Longer than the
 * statement timeout of 10 s.
 */
const RECONCILE_MIN_AGE_SECONDS = 15;
/**
 * Maximum number of services that are down at the same time. On a busy machine a restart takes longer than the pause between kills, so without
 * a limit few replies would complete.
 */
const MAX_DOWN = 2;
/** The share of visits whose session a person takes over. */
const TAKEOVER_SHARE = 0.1;
/** The longest reply takes about 200 ms on an idle machine. */
const MAX_TAKEOVER_DELAY_MS = 300;
const SKEWED_CLOCK = fileURLToPath(new URL("skewed-clock.ts", import.meta.url));

/**
 * Sends SIGKILL to random services and database connections while visitors chat, and people take over some of their sessions. With `hasDatabaseFaults`, also injects the faults of
 * FaultInjector. Restarts each killed service at once. At the end, waits until every turn is settled. If there were restores, repairs the
 * differences that they caused between turns and usage. Counts the remaining differences.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const postgres = await startTestPostgres();
  const database = await createSystemDatabase(postgres.url);
  const proxies = await startDatabaseProxies(database.url);
  const env = { LOG_LEVEL: "silent", NODE_OPTIONS: `--import ${SKEWED_CLOCK}` };
  const reconciliation = {
    RECONCILE_EVERY_SECONDS: "5",
    RECONCILE_MIN_AGE_SECONDS: String(RECONCILE_MIN_AGE_SECONDS),
  };
  const system = await startSystem({
    edges: 2,
    database,
    databasePorts: portsOf(proxies),
    env: {
      edge: { ...TRUST_FORWARDED_FOR, ...env },
      conversation: { ...env, ...reconciliation, EDGE_LEASE_SECONDS: String(options.edgeLeaseSeconds) },
      quota: env,
      "llm-proxy": env,
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
    return await injectFaultsUnderLoad({ system, postgres, proxies, tenants }, options);
  } finally {
    await system.stop();
    await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
    await postgres.stop();
  }
}

async function injectFaultsUnderLoad(target: FaultTarget, options: ChaosOptions): Promise<ChaosResult> {
  const { system, tenants } = target;
  const deadline = performance.now() + options.seconds * 1_000;
  const visits: VisitResult[] = [];
  let kills = 0;
  let isOver: boolean = false;

  const sendMessages = async (visitorIndex: number) => {
    for (let turn = visitorIndex; !isOver; turn++) {
      const tenant = pickByIndex(tenants, turn);
      const url = system.url(turn % system.edges.length);
      const session = { session_id: randomUUID() };
      const visiting = visit(url, tenant, session);
      const isTakenOver = Math.random() < TAKEOVER_SHARE && (await takeOver(system, tenant, session.session_id));
      const result = await visiting;
      visits.push(result);
      if (isTakenOver) visits.push(await visit(url, tenant, session));
      // Avoids a busy loop while an edge refuses connections.
      await sleep(result.kind === "stream" ? options.pauseMs : 100);
    }
  };

  const injector = new FaultInjector(target, options.progress);
  const services = [...system.edges, system.conversation, system.quota, system.llm];
  const restarts = new Restarts();
  // Services must run long enough to detect a fault of the database.
  const minPauseMs = options.hasDatabaseFaults ? 2_000 : 500;
  const hasEnough = () => kills >= options.minKills && (countOutcomes(visits).stop ?? 0) >= options.minReplies;
  const killServices = async () => {
    while (!isOver && !restarts.hasFailed && (performance.now() < deadline || !hasEnough())) {
      await sleep(minPauseMs + Math.random() * 5 * minPauseMs);
      // Kills nothing while the injector measures the recovery from a fault.
      if (injector.isRecovering) continue;
      const victim = pickByIndex(services, Math.floor(Math.random() * services.length));
      const isKilled =
        Math.random() < 0.1
          ? await killDatabaseConnection(system)
          : restarts.pending < MAX_DOWN && restarts.killAndRestart(victim);
      if (!isKilled) continue;
      kills++;
      if (kills % 10 === 0) options.progress(`${visits.length} visits, ${kills} kills`);
    }
    await restarts.finish();
  };
  const injectFaults = async () => {
    if (options.hasDatabaseFaults) await injector.run(deadline);
  };

  const visitors = Array.from({ length: options.visitors }, (_, index) => sendMessages(index));
  const disturbances = [killServices(), injectFaults()].map((each) =>
    each.catch((error: unknown) => {
      // Ends the other tasks, which would run for ever in a system that does not recover.
      isOver = true;
      throw error;
    }),
  );
  await Promise.allSettled(disturbances);
  isOver = true;
  await Promise.all([...disturbances, ...visitors]);
  options.progress(`${visits.length} visits, ${kills} kills; waiting for settlement`);
  const reconciled = await reconcile(system, {
    settleTimeoutMs: options.settleTimeoutMs,
    minAgeSeconds: RECONCILE_MIN_AGE_SECONDS,
    hasRestores: options.hasDatabaseFaults,
  });
  const outcomes = countOutcomes(visits);
  return {
    ...reconciled,
    visits: visits.length,
    kills,
    faults: injector.reports(),
    outcomes,
    receivedReplies: outcomes.stop ?? 0,
    lostReplies: injector.lostReplies,
    restoresAfterFewReplies: injector.restoresAfterFewReplies,
    providerCalls: system.provider.requests.length,
  };
}

/** Takes a session over while the bot answers, at any edge. Returns whether that was successful. */
async function takeOver(system: System, { workspaceId }: Tenant, sessionId: string): Promise<boolean> {
  try {
    const token = await system.sso.token({ workspaceId, role: "owner" });
    await sleep(Math.random() * MAX_TAKEOVER_DELAY_MS);
    const edge = Math.floor(Math.random() * system.edges.length);
    const response = await fetch(`${system.url(edge)}/api/conversations/${sessionId}/handoff/`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ action: "take", agent: { id: "anna", name: "Anna" } }),
    });
    await response.text();
    return response.ok;
  } catch {
    // The edge is down.
    return false;
  }
}

/** A service that starts without a database becomes ready when the database is back. That can take longer than one wait for readiness. */
const START_ATTEMPTS = 5;

/** Kills services and tracks their restarts. */
export class Restarts {
  readonly #pending = new Map<ServiceProcess, Promise<void>>();
  readonly #failures: unknown[] = [];

  /** The number of killed services that are not ready again yet. */
  get pending(): number {
    return this.#pending.size;
  }

  get hasFailed(): boolean {
    return this.#failures.length > 0;
  }

  /** Kills a service and starts it again, without waiting. Returns false if the service is already being started again. */
  killAndRestart(service: ServiceProcess): boolean {
    if (this.#pending.has(service)) return false;
    const restart = killAndRestart(service).catch((error: unknown) => void this.#failures.push(error));
    this.#pending.set(
      service,
      restart.finally(() => this.#pending.delete(service)),
    );
    return true;
  }

  /** Waits for all restarts. Throws if one of them failed. */
  async finish(): Promise<void> {
    await Promise.all(this.#pending.values());
    if (this.hasFailed) throw new AggregateError(this.#failures, "a killed service did not start again");
  }
}

/** Kills a service and starts it again. Throws if it is not ready after START_ATTEMPTS waits. */
async function killAndRestart(service: ServiceProcess): Promise<void> {
  await service.kill9();
  for (let attempt = 1; ; attempt++) {
    try {
      await (attempt > 1 && service.process().isRunning() ? service.process().waitReady() : service.start());
      return;
    } catch (error) {
      if (attempt === START_ATTEMPTS) throw error;
    }
  }
}

/**
 * Kills the process of a random connection to the database. PostgreSQL then restarts itself. Returns false if no process was killed: there is
 * no connection, the database is down, or the connection has just ended.
 */
export async function killDatabaseConnection(system: System): Promise<boolean> {
  try {
    const databases = databasesOf(system.database);
    const [connection] = await queryRows<{ pid: number }>(
      pickByIndex(databases, Math.floor(Math.random() * databases.length)).url,
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1",
    );
    if (connection === undefined) return false;
    process.kill(connection.pid, "SIGKILL");
    return true;
  } catch {
    return false;
  }
}
