import type { RpcClient } from "@parley/rpc";
import type { UsageEvent as ListedEvent, QuotaService } from "@parley/rpc/quota";
import { type Database, pause } from "@parley/service-kit";
import { ReaderLease } from "../leases/index.ts";
import {
  forgetUsageEvents,
  readUsageEventPosition,
  recordUsageEvents,
  USAGE_EVENTS_TASK,
  type UsageEvent,
} from "./usage-events.store.ts";

const PAGE_EVENTS = 500;
const LIST_TIMEOUT_MS = 5_000;
/** If the replica that reads the events dies, another one takes over within about 13 s. */
const LEASE_SECONDS = 10;
/** Longer than quota keeps its events. */
const KEPT_DAYS = 100;
const BATCH_ROWS = 1_000;
const PAUSE_MS = 100;

export type UsageEventsDeps = {
  /** The database of one shard, and the client of quota for its workspaces. */
  database: Database;
  quota: Pick<RpcClient<typeof QuotaService>, "listEvents">;
};

/**
 * Returns a function that records the new events of a shard's quota database, once each. One replica at a time works. The caller runs it every
 * second. If quota is away, the events are recorded when it is back.
 */
export function createUsageEventsTask({ database, quota }: UsageEventsDeps) {
  const lease = new ReaderLease(database, USAGE_EVENTS_TASK, LEASE_SECONDS);
  return async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted && (await lease.hold())) {
      const request = { after: await readUsageEventPosition(database), pageSize: PAGE_EVENTS };
      const { events, next } = await quota.listEvents(request, { timeoutMs: LIST_TIMEOUT_MS, signal });
      // Also empty while quota adds events: the next run reads them.
      if (events.length === 0) return;
      await recordUsageEvents(database, events.map(toUsageEvent), next);
    }
  };
}

/** Forgets the ids of the usage events that quota no longer has. Replicas may run this concurrently. */
export async function forgetOldUsageEvents(database: Database, signal: AbortSignal): Promise<void> {
  const forgetBatch = () => forgetUsageEvents(database, KEPT_DAYS, BATCH_ROWS);
  while (!signal.aborted && (await forgetBatch()) === BATCH_ROWS) await pause(PAUSE_MS, signal);
}

function toUsageEvent({ id, workspaceId, type, occurredAt, ...event }: ListedEvent): UsageEvent {
  const { month, threshold, generation, used, cap } = event;
  const data = type === "usage.month_closed" ? { month, used, cap } : { month, threshold, generation, used, cap };
  return { id, workspaceId, type, occurredAt, data };
}
