import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { startTestPostgres, type TestPostgres } from "@parley/test-support";
import { createPlan, waitUntilSettled } from "../database.ts";
import { pickByIndex } from "../random.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system.ts";
import { TRUST_FORWARDED_FOR } from "../visitors.ts";
import { killDatabaseConnection, Restarts } from "./chaos.ts";
import { checkKeyedReplies, type KeyedVisit } from "./check-keyed-replies.ts";
import { readUntilEnd } from "./resuming-visitor.ts";

export type KeyedChaosOptions = {
  seconds: number;
  visitors: number;
  /** The time from an edge's last lease renewal until the lease expires. The sweeper then closes the edge's open turns. */
  edgeLeaseSeconds: number;
  settleTimeoutMs: number;
  /** Minimum sum of service kills and database restarts. If services start slowly, the run takes longer than `seconds` to reach it. */
  minFaults: number;
};

export type KeyedChaosResult = {
  /** Messages, each with its own idempotency key. */
  keys: number;
  turns: number;
  /** Messages counted against the quota. */
  charges: number;
  readers: number;
  stops: number;
  erasures: number;
  /** Services killed with kill -9. */
  kills: number;
  /** Restarts of the database, and crashes after one of its processes was killed. */
  databaseRestarts: number;
  /**
   * - Replies that are missing although no erasure of their session was requested.
   * - Replies that differ from the stored reply, from the model's text or from another reader's reply.
   * - Stop requests that returned another outcome than the stored one.
   */
  lost: string[];
  /**
   * - Text, turns and model calls that occurred more than once.
   * - Requests that reuse a key with another message and are not refused.
   * - Turns with a wrong number of charges, and usage that does not balance.
   */
  duplicated: string[];
  /** Readers that received no end, and turns, holds and settlements that are still open. */
  hung: string[];
};

const EDGES = 3;
/** Longer than a lease, a drain and the restart of a service together. */
const READER_TIMEOUT_MS = 120_000;
/** Shorter than the longest pause of a reader, so that the edge cancels some replies that have no reader. */
const DETACHED_REPLY_MS = 2_500;
const WORDS = [
  "Where",
  "is",
  "my",
  "order?",
  "Grüße",
  "👋🏽",
  "日本語",
  "👨‍👩‍👧",
  "\u{1D11E}",
  "naïve",
  '"quoted"',
  "\\n",
  "<b>",
];
const MODELS = ["tokens-40-every-50", "tokens-10-every-100", "cut-after-3", "echo", "split-utf8"];

/** The numbers of stops, erasures and faults of the run so far. */
type Disturbances = Pick<KeyedChaosResult, "stops" | "erasures" | "kills" | "databaseRestarts">;
type Chaos = { system: System; postgres: TestPostgres; counts: Disturbances; isOver: () => boolean };

/**
 * Sends random messages with idempotency keys. Meanwhile readers disconnect and reconnect to random edges, replies are stopped, sessions are
 * erased, services are killed, and the database restarts. Then compares the reply that each reader received with the stored reply.
 */
export async function runKeyedChaos(options: KeyedChaosOptions): Promise<KeyedChaosResult> {
  const postgres = await startTestPostgres();
  // Errors are logged, because they explain why a service cannot start.
  const quiet = { LOG_LEVEL: "error" };
  const system = await startSystem({
    edges: EDGES,
    databaseServerUrl: postgres.url,
    env: {
      edge: { ...TRUST_FORWARDED_FOR, ...quiet, DETACHED_REPLY_MS: String(DETACHED_REPLY_MS) },
      conversation: { ...quiet, EDGE_LEASE_SECONDS: String(options.edgeLeaseSeconds) },
      quota: quiet,
      "llm-proxy": quiet,
    },
  });
  try {
    await createPlan(system.database, "large", 1_000_000);
    const tenants = await Promise.all(
      MODELS.map(async (model) => ({
        model,
        tenant: await createTenant(system.admin, { plan: "large", model: `openai:${model}` }),
      })),
    );
    const counts = { stops: 0, erasures: 0, kills: 0, databaseRestarts: 0 };
    const deadline = performance.now() + options.seconds * 1_000;
    let hasFailed: boolean = false;
    const isOver = () =>
      hasFailed || (performance.now() >= deadline && counts.kills + counts.databaseRestarts >= options.minFaults);
    const chaos = { system, postgres, counts, isOver };
    const visits: KeyedVisit[] = [];
    const tasks = [
      killUntilOver(chaos),
      ...Array.from({ length: options.visitors }, (_, number) => visitUntilOver(chaos, tenants, number, visits)),
    ].map((task) =>
      task.catch((error: unknown) => {
        // Ends the other tasks, which would run for ever if `minFaults` is not reached.
        hasFailed = true;
        throw error;
      }),
    );
    await Promise.allSettled(tasks);
    await Promise.all(tasks);
    const balance = await waitUntilSettled(system.database, options.settleTimeoutMs);
    const report = await checkKeyedReplies(system, visits, balance);
    const readers = visits.reduce((sum, { readerResults }) => sum + readerResults.length, 0);
    return { keys: visits.length, readers, charges: balance.used, ...counts, ...report };
  } finally {
    await system.stop();
    await postgres.stop();
  }
}

const chance = (probability: number) => Math.random() < probability;
const randomBelow = (limit: number) => Math.floor(Math.random() * limit);
const randomUrl = (system: System) => system.url(randomBelow(EDGES));
const randomMessage = () =>
  Array.from({ length: 1 + randomBelow(12) }, () => pickByIndex(WORDS, randomBelow(WORDS.length))).join(" ");

async function visitUntilOver(
  chaos: Chaos,
  tenants: readonly { tenant: Tenant; model: string }[],
  firstIndex: number,
  visits: KeyedVisit[],
): Promise<void> {
  for (let index = firstIndex; !chaos.isOver(); index++) {
    const session = { ...pickByIndex(tenants, index), sessionId: randomUUID() };
    // A session may have two running replies.
    const sessionVisits: KeyedVisit[] = Array.from({ length: chance(0.3) ? 2 : 1 }, () => ({
      ...session,
      key: randomUUID(),
      message: randomMessage(),
      readerResults: [],
      stopStatuses: [],
      isErasureRequested: false,
    }));
    visits.push(...sessionVisits);
    await Promise.all([...sessionVisits.map((visit) => readReply(chaos, visit)), disturb(chaos, sessionVisits)]);
  }
}

/** Reads a reply with one to three readers, each of which disconnects at random. */
async function readReply({ system }: Chaos, visit: KeyedVisit): Promise<void> {
  const readers = Array.from({ length: 1 + randomBelow(3) }, async () => {
    await sleep(Math.random() * 1_000);
    return readUntilEnd(visit, {
      nextUrl: () => randomUrl(system),
      nextEventLimit: () => (chance(0.6) ? 1 + randomBelow(20) : Number.POSITIVE_INFINITY),
      nextDelayMs: () => (chance(0.1) ? 2 * DETACHED_REPLY_MS : 200),
      timeoutMs: READER_TIMEOUT_MS,
    });
  });
  visit.readerResults = await Promise.all(readers);
}

/** Stops a reply in one session of eight, and erases one session of sixteen. */
async function disturb({ system, counts }: Chaos, visits: readonly KeyedVisit[]): Promise<void> {
  const dice = Math.random();
  if (dice > 3 / 16) return;
  await sleep(Math.random() * 2_000);
  if (dice > 1 / 16) {
    counts.stops++;
    await stopReply(randomUrl(system), pickByIndex(visits, 0)).catch((error: Error) => {
      // The connection to a killed edge breaks. An edge that runs must answer.
      if (error.name === "TimeoutError") throw error;
    });
    return;
  }
  for (const visit of visits) visit.isErasureRequested = true;
  const { tenant, sessionId } = pickByIndex(visits, 0);
  await system.admin.sessions.eraseSession({ workspaceId: tenant.workspaceId, sessionId }).then(
    () => counts.erasures++,
    // A killed service does not answer, and the session may not exist yet.
    () => undefined,
  );
}

async function stopReply(url: string, { tenant, sessionId, key, stopStatuses }: KeyedVisit): Promise<void> {
  const body = { public_key: tenant.publicKey, session_id: sessionId, idempotency_key: key };
  const response = await fetch(`${url}/api/chat/stop/`, {
    method: "POST",
    headers: { origin: tenant.origin },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(READER_TIMEOUT_MS),
  });
  const { status } = (await response.json()) as { status?: string };
  if (response.status === 200) stopStatuses.push(String(status));
}

async function killUntilOver({ system, postgres, counts, isOver }: Chaos): Promise<void> {
  const services = [...system.edges, system.conversation, system.quota, system.llm];
  const restarts = new Restarts();
  while (!isOver() && !restarts.hasFailed) {
    await sleep(1_500 + Math.random() * 3_000);
    const victim = pickByIndex(services, randomBelow(services.length));
    if (chance(0.2)) {
      if (await restartDatabase(system, postgres)) counts.databaseRestarts++;
    } else if (restarts.killAndRestart(victim)) counts.kills++;
  }
  await restarts.finish();
}

/** Restarts or crashes the database. Returns false if it cannot be crashed, because it is still recovering or has no connections. */
async function restartDatabase(system: System, postgres: TestPostgres): Promise<boolean> {
  if (chance(0.5)) return killDatabaseConnection(system);
  await postgres.restart();
  return true;
}
