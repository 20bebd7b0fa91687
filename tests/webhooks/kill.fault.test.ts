import { setTimeout as sleep } from "node:timers/promises";
import {
  queryRows,
  quickOrFull,
  startTestPostgres,
  startWebhookReceiver,
  type TestPostgres,
  type WebhookReceiver,
} from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPlan, databaseOf, waitUntilSettled } from "../system/database.ts";
import { Restarts } from "../system/faults/chaos.ts";
import { killDatabase } from "../system/faults/database-faults.ts";
import { mapConcurrently } from "../system/map-concurrently.ts";
import { shuffle } from "../system/random.ts";
import { createSystemDatabase, createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { countOutcomes, TRUST_FORWARDED_FOR, type VisitResult, visit } from "../system/visitors.ts";

/** `pnpm test:full` has 5,000 turns in 200 workspaces. */
const WORKSPACES = quickOrFull(6, 200);
const CAP = quickOrFull(12, 25);
/** In each round, every service and the database are killed once. */
const ROUNDS = quickOrFull(1, 6);
const KILL_PAUSE_MS = quickOrFull(500, 5_000);
const VISITORS = 12;
const VISIT_PAUSE_MS = 100;
const THRESHOLDS = [50, 80, 95, 100];
const TIMEOUT_MS = quickOrFull(120_000, 1_500_000);

let postgres: TestPostgres;
let system: System;
let receiver: WebhookReceiver;
beforeAll(async () => {
  postgres = await startTestPostgres();
  system = await startSystem({
    database: await createSystemDatabase(postgres.url),
    env: {
      edge: TRUST_FORWARDED_FOR,
      // Shorter than an installation's 30 s, so that the turns of a killed edge end sooner.
      conversation: { EGRESS_ALLOW: "127.0.0.1/32", EDGE_LEASE_SECONDS: "3" },
    },
  });
  receiver = await startWebhookReceiver();
  await createPlan(system.database, "capped", CAP);
}, 180_000);
afterAll(async () => {
  await receiver.close();
  await system.stop();
  await postgres.stop();
});

/** What a workspace's turns and sessions should have caused, and what is queued, by the service's tables. */
type Queue = { caused: number; ids: string[]; last: number; left: number };

const READ_QUEUE = `
  SELECT (SELECT count(*) FROM conversation.turns WHERE workspace_id = $1 AND status IN ('done', 'blocked'))::integer
           + (SELECT count(*) FROM conversation.sessions WHERE workspace_id = $1)::integer AS caused,
         (SELECT coalesce(array_agg(event_id::text), '{}') FROM conversation.webhook_deliveries WHERE workspace_id = $1) AS ids,
         (SELECT coalesce(max(sequence), 0)::integer FROM conversation.webhook_deliveries WHERE workspace_id = $1) AS last,
         (SELECT count(*) FROM conversation.events WHERE workspace_id = $1)::integer
           + (SELECT count(*) FROM conversation.webhook_deliveries WHERE workspace_id = $1 AND status <> 'delivered')::integer AS left`;

/** The ids of the events of a workspace that has reached each threshold once, in the first generation. */
const THRESHOLD_IDS = `
  SELECT quota.event_id_of($1, 'usage.threshold', date_trunc('month', now() AT TIME ZONE 'UTC')::date, t, 1)::text AS id
  FROM unnest($2::integer[]) AS t`;

const READ_USED = "SELECT coalesce(sum(used), 0)::integer AS used FROM quota.usage WHERE workspace_id = $1";

/** Lets the attempts begin that wait for their time, also those of a killed process. */
const SKIP_WAITS = `
  UPDATE conversation.webhook_deliveries SET next_attempt_at = now()
  WHERE workspace_id = $1 AND status = 'pending' AND next_attempt_at > now() + interval '1 second'`;

const query = <T extends object>(sql: string, { workspaceId }: Tenant, ...values: unknown[]) =>
  queryRows<T>(databaseOf(system, workspaceId).url, sql, [workspaceId, ...values]);

async function createEndpoint(): Promise<Tenant> {
  const tenant = await createTenant(system.admin, { plan: "capped" });
  const { workspaceId } = tenant;
  const { secret } = await system.admin.webhooks.createEndpoint({ workspaceId, changes: { url: receiver.url } });
  receiver.secretOf.set(workspaceId, secret);
  return tenant;
}

/** Chats until the plan's cap is reached. A hold of a killed turn also refuses messages, but only until it is released. */
async function chatUntilCap(tenant: Tenant, visits: VisitResult[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const result = await visit(system.url(), tenant);
    visits.push(result);
    if (result.kind === "stream" && result.finishReason === "quota_exceeded") {
      // The database may be down.
      const [row] = await query<{ used: number }>(READ_USED, tenant).catch(() => []);
      if ((row?.used ?? 0) >= CAP) return;
    }
    await sleep(result.kind === "stream" ? VISIT_PAUSE_MS : 200);
  }
}

async function killEverything(restarts: Restarts): Promise<number> {
  const services = [...system.edges, system.conversation, system.quota, system.llm];
  const kills = [
    async () => killDatabase(postgres, 1_000),
    ...services.map((service) => async () => void restarts.killAndRestart(service)),
  ];
  for (const kill of shuffle(kills)) {
    await sleep(KILL_PAUSE_MS);
    await kill();
  }
  await restarts.finish();
  return kills.length;
}

/** Waits until all events of a workspace have been delivered. */
async function waitUntilDelivered(tenant: Tenant): Promise<Queue> {
  let queue: Queue | undefined;
  const readMissing = async () => {
    await query(SKIP_WAITS, tenant);
    [queue] = await query<Queue>(READ_QUEUE, tenant);
    const { caused = 0, ids = [], left = 0 } = queue ?? {};
    return left + caused + THRESHOLDS.length - ids.length;
  };
  await expect.poll(readMissing, { timeout: TIMEOUT_MS / 2, interval: 500 }).toBe(0);
  return queue ?? expect.fail();
}

test(
  "a receiver that fails a third of the time gets each event, while every service and the database are killed",
  async ({ signal }) => {
    const accepted = new Set<string>();
    let requests = 0;
    receiver.respond = (response, { id }) => {
      const isRefused = requests++ % 3 === 0;
      if (!isRefused) accepted.add(id);
      response.writeHead(isRefused ? 500 : 204).end();
    };
    const tenants = await mapConcurrently(WORKSPACES, 4, createEndpoint);
    const visits: VisitResult[] = [];
    const chats = mapConcurrently(WORKSPACES, VISITORS, async (index) => {
      const tenant = tenants[index];
      if (tenant !== undefined) await chatUntilCap(tenant, visits, signal);
    });
    const restarts = new Restarts();
    let kills = 0;
    for (let round = 0; round < ROUNDS; round++) kills += await killEverything(restarts);
    await chats;
    const { used, done, unbalanced } = await waitUntilSettled(system.database, TIMEOUT_MS / 4);
    expect([used, unbalanced]).toEqual([done, 0]);
    expect(done).toBeGreaterThanOrEqual(WORKSPACES * CAP);

    const all: string[] = [];
    const thresholds: string[] = [];
    await mapConcurrently(WORKSPACES, VISITORS, async (index) => {
      const tenant = tenants[index] ?? expect.fail();
      const { ids, last } = await waitUntilDelivered(tenant);
      // Nothing is queued twice, and no number is missing.
      expect([new Set(ids).size, last]).toEqual([ids.length, ids.length]);
      all.push(...ids);
      const rows = await query<{ id: string }>(THRESHOLD_IDS, tenant, THRESHOLDS);
      thresholds.push(...rows.map(({ id }) => id));
    });
    // The receiver has accepted exactly these events, and refused no signature.
    expect(accepted).toEqual(new Set(all));
    expect(receiver.refused).toEqual([]);
    // Each threshold of each workspace was reached once, and is an event of the receiver's.
    const received = receiver.received.filter(({ body }) => body.type.startsWith("usage."));
    expect(new Set(received.map(({ id }) => id))).toEqual(new Set(thresholds));
    const outcomes = JSON.stringify(countOutcomes(visits));
    console.info(
      `${done} turns in ${WORKSPACES} workspaces, ${kills} kills, ${thresholds.length} threshold events of ${all.length} events, ${requests} requests; visits: ${outcomes}`,
    );
  },
  TIMEOUT_MS,
);
