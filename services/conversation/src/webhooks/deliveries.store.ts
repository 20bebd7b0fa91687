import type { Database, EgressErrorCode } from "@parley/service-kit";
import type { EndpointRef } from "./webhook.ts";

/** An event in an endpoint's queue or log. */
export type Delivery = {
  sequence: number;
  eventId: string;
  type: string;
  occurredAt: Date;
  status: "pending" | "delivered" | "failed";
  attemptedAt: Date[];
  nextAttemptAt: Date | null;
  responseStatus: number | null;
  responseBody: string | null;
  error: EgressErrorCode | null;
  durationMs: number | null;
};

// The status is part of the text, so that PostgreSQL can use the partial indexes.
const listSql = (condition: string) => `
  SELECT sequence, event_id AS "eventId", type, occurred_at AS "occurredAt", status, attempted_at AS "attemptedAt",
         next_attempt_at AS "nextAttemptAt", response_status AS "responseStatus", response_body AS "responseBody", error, duration_ms AS "durationMs"
  FROM conversation.webhook_deliveries
  WHERE workspace_id = $1 AND endpoint_id = $2 ${condition} AND ($3::bigint IS NULL OR sequence < $3)
  ORDER BY sequence DESC LIMIT $4`;

const LISTS = {
  "": listSql(""),
  pending: listSql("AND status = 'pending'"),
  delivered: listSql("AND status = 'delivered'"),
  failed: listSql("AND status = 'failed'"),
} as const;

export type DeliveryFilter = keyof typeof LISTS;

/** Lists a page of an endpoint's deliveries, latest sequence first. `status` is empty for all. */
export async function listDeliveries(
  database: Database,
  { workspaceId, endpointId }: EndpointRef,
  { status, before, limit }: { status: DeliveryFilter; before: string | undefined; limit: number },
): Promise<Delivery[]> {
  const { rows } = await database.query<Delivery>(LISTS[status], [workspaceId, endpointId, before, limit]);
  return rows;
}

const REDELIVER = `
  UPDATE conversation.webhook_deliveries SET status = 'pending', attempts = 0, next_attempt_at = now()
  WHERE workspace_id = $1 AND endpoint_id = $2 AND sequence BETWEEN $3 AND $4`;

/** Queues deliveries again. Returns their number. */
export async function redeliver(
  database: Database,
  { workspaceId, endpointId }: EndpointRef,
  { from, to }: { from: number; to: number },
): Promise<number> {
  const { rowCount } = await database.query(REDELIVER, [workspaceId, endpointId, from, to]);
  return rowCount ?? 0;
}

const QUEUE_TEST = `
  WITH endpoint AS (
    UPDATE conversation.webhook_endpoints w SET last_sequence = w.last_sequence + 1
    WHERE w.workspace_id = $1 AND w.endpoint_id = $2 AND w.disabled_at IS NULL
    RETURNING w.workspace_id, w.endpoint_id, w.last_sequence
  )
  INSERT INTO conversation.webhook_deliveries (workspace_id, endpoint_id, sequence, event_id, type, occurred_at, data, next_attempt_at)
  SELECT e.workspace_id, e.endpoint_id, e.last_sequence, gen_random_uuid(), 'test', now(), '{}', now() FROM endpoint e WHERE e.workspace_id = $1
  RETURNING sequence`;

/** Queues an event of the type test. Returns its sequence; undefined if there is no such endpoint, or if it is disabled. */
export async function queueTestEvent(
  database: Database,
  { workspaceId, endpointId }: EndpointRef,
): Promise<number | undefined> {
  const { rows } = await database.query<{ sequence: number }>(QUEUE_TEST, [workspaceId, endpointId]);
  return rows[0]?.sequence;
}
