import { type Database, NIL_UUID } from "@parley/service-kit";
import { isMailedSql } from "../events/index.ts";
import { type ClaimedDelivery, DISABLED_AFTER_HOURS, type EndpointRef } from "./webhook.ts";

/** An attempt that has no stored result after this time is made again: its process died, or the database was away. */
const CLAIM_SECONDS = 60;
/** As LONGEST_TRANSACTION_SECONDS of turns: a statement that inserts an event has committed or failed by then. */
const LONGEST_TRANSACTION_SECONDS = 15;

// One statement moves events to the queues, also to that of e-mail, so a failure loses none and doubles none. It numbers an endpoint's events in the order in which they
// were recorded. The endpoint's row is locked, so no two events get one number.
const COPY_EVENTS = `
  WITH taken AS (
    DELETE FROM conversation.events e
    WHERE e.ctid = ANY (ARRAY(
      SELECT n.ctid FROM conversation.events n
      WHERE n.recorded_at >= $2::timestamptz ORDER BY n.recorded_at LIMIT $1 FOR UPDATE SKIP LOCKED
    ))
    RETURNING e.*
  ), wanted AS (
    SELECT t.*, w.endpoint_id,
           row_number() OVER (PARTITION BY w.workspace_id, w.endpoint_id ORDER BY t.recorded_at, t.occurred_at, t.event_id) AS place
    FROM taken t CROSS JOIN LATERAL (
      SELECT w.workspace_id, w.endpoint_id FROM conversation.webhook_endpoints w
      WHERE w.workspace_id = t.workspace_id AND w.disabled_at IS NULL AND (w.types = '{}' OR t.type = ANY (w.types)) OFFSET 0
    ) w
  ), numbered AS (
    UPDATE conversation.webhook_endpoints w SET last_sequence = w.last_sequence + n.events
    FROM (SELECT workspace_id, endpoint_id, count(*) AS events FROM wanted GROUP BY workspace_id, endpoint_id) n
    WHERE w.workspace_id = n.workspace_id AND w.endpoint_id = n.endpoint_id
    RETURNING w.workspace_id, w.endpoint_id, w.last_sequence - n.events AS last, n.events
  ), queued AS (
    INSERT INTO conversation.webhook_deliveries
      (workspace_id, endpoint_id, sequence, event_id, type, occurred_at, session_id, data, next_attempt_at)
    SELECT n.workspace_id, n.endpoint_id, n.last + e.place, e.event_id, e.type, e.occurred_at, e.session_id, e.data, now()
    FROM wanted e JOIN numbered n ON n.workspace_id = e.workspace_id AND n.endpoint_id = e.endpoint_id
  ), mailed AS (
    INSERT INTO conversation.email_messages (workspace_id, recipient_id, event_id, type, occurred_at, data, next_attempt_at)
    SELECT t.workspace_id, r.recipient_id, t.event_id, t.type, t.occurred_at, t.data, now()
    FROM taken t CROSS JOIN LATERAL (
      SELECT r.recipient_id FROM conversation.email_recipients r WHERE r.workspace_id = t.workspace_id OFFSET 0
    ) r
    WHERE ${isMailedSql("t.type", "t.data")}
  )
  SELECT (SELECT count(*)::integer FROM taken) AS taken,
         coalesce(jsonb_agg(jsonb_build_object('workspaceId', n.workspace_id, 'endpointId', n.endpoint_id, 'events', n.events))
                    FILTER (WHERE n.endpoint_id IS NOT NULL), '[]') AS queued
  FROM (SELECT) one LEFT JOIN numbered n ON true`;

export type CopiedEvents = { taken: number; queued: (EndpointRef & { events: number })[] };

/** Moves up to `limit` events that were recorded since `since` to the queues of the endpoints that want them, and of the workspaces' recipients of e-mail. */
export async function copyEvents(database: Database, limit: number, since = "-infinity"): Promise<CopiedEvents> {
  const { rows } = await database.query<CopiedEvents>({
    name: "copy_events",
    text: COPY_EVENTS,
    values: [limit, since],
  });
  return rows[0] ?? { taken: 0, queued: [] };
}

/** Returns a time from which the next reads of the events may start. See QueueReadStart. */
export async function readEventMark(database: Database): Promise<string> {
  const { rows } = await database.query<{ mark: string }>({
    name: "read_event_mark",
    text: "SELECT (now() - make_interval(secs => $1))::text AS mark",
    values: [LONGEST_TRANSACTION_SECONDS],
  });
  return rows[0]?.mark ?? "-infinity";
}

// Jumps from one endpoint with waiting events to the next, so that the events of one do not hide those of the others.
const LIST_DUE = `
  WITH RECURSIVE waiting AS (
    (SELECT workspace_id, endpoint_id FROM conversation.webhook_deliveries
     WHERE status = 'pending' ORDER BY workspace_id, endpoint_id LIMIT 1)
    UNION ALL
    SELECT n.workspace_id, n.endpoint_id FROM waiting w CROSS JOIN LATERAL (
      SELECT d.workspace_id, d.endpoint_id FROM conversation.webhook_deliveries d
      WHERE d.status = 'pending' AND (d.workspace_id, d.endpoint_id) > (w.workspace_id, w.endpoint_id)
      ORDER BY d.workspace_id, d.endpoint_id LIMIT 1
    ) n
  )
  SELECT w.workspace_id AS "workspaceId", w.endpoint_id AS "endpointId", due.events
  FROM waiting w CROSS JOIN LATERAL (
    SELECT count(*)::integer AS events FROM (
      SELECT FROM conversation.webhook_deliveries d
      WHERE d.workspace_id = w.workspace_id AND d.endpoint_id = w.endpoint_id AND d.status = 'pending' AND d.next_attempt_at <= now()
      LIMIT $1
    ) d
  ) due
  WHERE due.events > 0 AND (
    SELECT e.disabled_at IS NULL AND coalesce(e.paused_until <= now(), true)
    FROM conversation.webhook_endpoints e WHERE e.workspace_id = w.workspace_id AND e.endpoint_id = w.endpoint_id
  )`;

/** Lists the endpoints with events that are due, and the number of these, counted up to `limit`. */
export async function listDue(database: Database, limit: number): Promise<(EndpointRef & { events: number })[]> {
  const { rows } = await database.query<EndpointRef & { events: number }>({
    name: "list_due_webhooks",
    text: LIST_DUE,
    values: [limit],
  });
  return rows;
}

const CLAIM = `
  UPDATE conversation.webhook_deliveries d SET next_attempt_at = now() + make_interval(secs => ${CLAIM_SECONDS})
  FROM conversation.webhook_endpoints w
  WHERE w.workspace_id = $1 AND w.endpoint_id = $2 AND w.disabled_at IS NULL AND coalesce(w.paused_until <= now(), true)
    AND d.workspace_id = $1 AND d.endpoint_id = $2 AND d.sequence = (
      SELECT n.sequence FROM conversation.webhook_deliveries n
      WHERE n.workspace_id = $1 AND n.endpoint_id = $2 AND n.status = 'pending' AND n.next_attempt_at <= now()
      ORDER BY n.next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED
    )
  RETURNING d.workspace_id AS "workspaceId", d.endpoint_id AS "endpointId", d.sequence, d.event_id AS "eventId", d.type,
            d.occurred_at AS "occurredAt", d.session_id AS "sessionId", d.data, d.attempts, w.url, w.include_content AS "includeContent",
            array_remove(ARRAY[w.secret, CASE WHEN w.previous_expires_at > now() THEN w.previous_secret END], NULL) AS secrets,
            coalesce(w.failing_since < now() - make_interval(hours => ${DISABLED_AFTER_HOURS}), false) AS "isFailingTooLong"`;

/** Claims the delivery of an endpoint that has been due for the longest time. Returns undefined if none is due. */
export async function claimDelivery(
  database: Database,
  { workspaceId, endpointId }: EndpointRef,
): Promise<ClaimedDelivery | undefined> {
  const { rows } = await database.query<ClaimedDelivery>({
    name: "claim_webhook",
    text: CLAIM,
    values: [workspaceId, endpointId],
  });
  return rows[0];
}

/** Limits how many events one statement drops. */
const MAX_DROPPED = 10_000;

const DROP_OLDEST = `
  WITH size AS MATERIALIZED (
    SELECT count(*) AS events FROM (
      SELECT FROM conversation.webhook_deliveries WHERE workspace_id = $1 AND endpoint_id = $2 AND status = 'pending' LIMIT $3::integer + 1
    ) p
  ), dropped AS (
    DELETE FROM conversation.webhook_deliveries d
    USING (
      SELECT sequence FROM conversation.webhook_deliveries
      WHERE workspace_id = $1 AND endpoint_id = $2 AND status = 'pending' AND (SELECT events FROM size) > $3
      ORDER BY sequence DESC OFFSET $4 LIMIT ${MAX_DROPPED}
    ) old
    WHERE d.workspace_id = $1 AND d.endpoint_id = $2 AND d.sequence = old.sequence AND d.status = 'pending'
    RETURNING d.sequence
  ), counted AS (
    UPDATE conversation.webhook_endpoints SET dropped = dropped + (SELECT count(*) FROM dropped)
    WHERE workspace_id = $1 AND endpoint_id = $2 AND EXISTS (SELECT FROM dropped)
  )
  SELECT (SELECT count(*)::integer FROM dropped) AS dropped, (SELECT events::integer FROM size) AS before`;

/**
 * If more than `limit` undelivered events of an endpoint wait, deletes the oldest ones, until a hundredth of the places is free. So a full queue is
 * sorted once in many events. Returns the number of deleted events, and of those that wait then; undefined if more than `limit` may still wait.
 */
export async function dropOldest(
  database: Database,
  { workspaceId, endpointId }: EndpointRef,
  limit: number,
): Promise<{ dropped: number; pending: number | undefined }> {
  const left = limit - Math.floor(limit / 100);
  const { rows } = await database.query<{ dropped: number; before: number }>(DROP_OLDEST, [
    workspaceId,
    endpointId,
    limit,
    left,
  ]);
  const { dropped, before } = rows[0] ?? { dropped: 0, before: 0 };
  if (dropped === 0) return { dropped, pending: before };
  return { dropped, pending: dropped < MAX_DROPPED ? left : undefined };
}

const DELETE_EXPIRED = `
  DELETE FROM conversation.webhook_deliveries d
  USING (
    SELECT workspace_id, endpoint_id, sequence FROM conversation.webhook_deliveries
    WHERE status <> 'pending' AND created_at < now() - make_interval(days => $1) ORDER BY created_at LIMIT $2
  ) old
  WHERE d.workspace_id = old.workspace_id AND d.endpoint_id = old.endpoint_id AND d.sequence = old.sequence`;

/** Deletes up to `limit` deliveries that are older than `days` and do not wait. Returns their number. */
export async function deleteExpired(database: Database, days: number, limit: number): Promise<number> {
  const { rowCount } = await database.query(DELETE_EXPIRED, [days, limit]);
  return rowCount ?? 0;
}

// Jumps from one endpoint to the next, as LIST_DUE does.
const NEXT_ENDPOINT = `
  SELECT d.workspace_id AS "workspaceId", d.endpoint_id AS "endpointId",
         (
           SELECT true FROM conversation.webhook_endpoints w WHERE w.workspace_id = d.workspace_id AND w.endpoint_id = d.endpoint_id
         ) IS NULL AS "isDeleted"
  FROM conversation.webhook_deliveries d
  WHERE (d.workspace_id, d.endpoint_id) > ($1, $2::uuid)
  ORDER BY d.workspace_id, d.endpoint_id LIMIT 1`;

/** Returns the first endpoint with deliveries after another one. */
export async function findNextEndpoint(
  database: Database,
  after: EndpointRef = { workspaceId: "", endpointId: NIL_UUID },
): Promise<(EndpointRef & { isDeleted: boolean }) | undefined> {
  const { rows } = await database.query(NEXT_ENDPOINT, [after.workspaceId, after.endpointId]);
  return rows[0];
}

const DELETE_DELIVERIES = `
  DELETE FROM conversation.webhook_deliveries
  WHERE workspace_id = $1 AND endpoint_id = $2 AND sequence IN (
    SELECT sequence FROM conversation.webhook_deliveries WHERE workspace_id = $1 AND endpoint_id = $2 LIMIT $3
  )`;

/** Deletes up to `limit` deliveries of an endpoint. Returns their number. */
export async function deleteDeliveries(
  database: Database,
  { workspaceId, endpointId }: EndpointRef,
  limit: number,
): Promise<number> {
  const { rowCount } = await database.query(DELETE_DELIVERIES, [workspaceId, endpointId, limit]);
  return rowCount ?? 0;
}

const MAX_COUNTED = 100_000;

const MEASURE = `
  SELECT count(*)::integer AS backlog, coalesce(extract(epoch FROM now() - min(occurred_at)), 0)::float8 AS "oldestSeconds",
         (SELECT coalesce(extract(epoch FROM now() - min(recorded_at)), 0)::float8 FROM conversation.events) AS "uncopiedSeconds"
  FROM (SELECT occurred_at FROM conversation.webhook_deliveries WHERE status = 'pending' LIMIT ${MAX_COUNTED}) p`;

/** Returns the number of undelivered events (up to 100,000), the age of the oldest of these, and of the oldest event that is in no queue yet. */
export async function measureWebhooks(
  database: Database,
): Promise<{ backlog: number; oldestSeconds: number; uncopiedSeconds: number }> {
  const { rows } = await database.query<{ backlog: number; oldestSeconds: number; uncopiedSeconds: number }>(MEASURE);
  return rows[0] ?? { backlog: 0, oldestSeconds: 0, uncopiedSeconds: 0 };
}
