import { type Database, sqlState, transaction } from "@parley/service-kit";

export const USAGE_EVENT_TYPES = ["usage.threshold", "usage.resolved", "usage.month_closed"] as const;
export type UsageEventType = (typeof USAGE_EVENT_TYPES)[number];

export type UsageEvent = {
  /** The event's place in the order of its shard. */
  position: number;
  /** A UUID. An event that is recorded again after a restore of the database has the same id. */
  id: string;
  workspaceId: string;
  type: UsageEventType;
  occurredAt: Date;
  /** "YYYY-MM" */
  month: string;
  /** In percent; 0 for usage.month_closed. */
  threshold: number;
  /** Counts from 1 in each month. It rises when the usage falls below a threshold. */
  generation: number;
  /** The messages that are charged to the plan; all messages of the month for usage.month_closed. */
  used: number;
  cap: number;
};

const COLUMNS = `event_id AS position, id, workspace_id AS "workspaceId", type, occurred_at AS "occurredAt",
  to_char(month, 'YYYY-MM') AS month, threshold, generation, used, cap`;

// If the database was restored to an earlier time, it may have assigned fewer positions than the caller has read. Then the list starts again.
const FIND_START = `
  SELECT CASE WHEN $1::bigint <= coalesce(pg_sequence_last_value('quota.events_event_id_seq'), 0) THEN $1::bigint ELSE 0 END AS after,
         EXISTS (SELECT FROM quota.events WHERE event_id > $1::bigint) AS "isNewer"`;

const LIST = `SELECT ${COLUMNS} FROM quota.events WHERE event_id > $1 ORDER BY event_id LIMIT $2`;

/** A transaction that adds events ends soon. While it runs, the caller gets no events and asks again. */
const LOCK_TIMEOUT = "50ms";
const LOCK_NOT_AVAILABLE = "55P03";

/**
 * Lists at most `limit` events of the database after a position, in order. A later call never finds an event before a position that was returned
 * (see quota.lock_events). Returns no events while a transaction adds events. If the database was restored to an earlier time, starts again at the
 * first event.
 */
export async function listEvents(database: Database, after: number, limit: number): Promise<UsageEvent[]> {
  const { rows } = await database.query<{ after: number; isNewer: boolean }>(FIND_START, [after]);
  const [start] = rows;
  // Without the lock, because the call is made every second and events are rare.
  if (start === undefined || (!start.isNewer && start.after === after)) return [];
  try {
    return await transaction(database, async (connection) => {
      await connection.query(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
      await connection.query("SELECT pg_advisory_xact_lock(hashtext('parley.usage_events'))");
      return (await connection.query<UsageEvent>(LIST, [start.after, limit])).rows;
    });
  } catch (error) {
    if (sqlState(error) === LOCK_NOT_AVAILABLE) return [];
    throw error;
  }
}

/** Lists a workspace's newest events of a month ("YYYY-MM", by default the current one), the newest first. */
export async function listMonthEvents(
  database: Database,
  { workspaceId, month, limit }: { workspaceId: string; month: string; limit: number },
): Promise<UsageEvent[]> {
  const { rows } = await database.query<UsageEvent>(
    `SELECT ${COLUMNS} FROM quota.events WHERE workspace_id = $1 AND month = to_date($2, 'YYYY-MM') ORDER BY event_id DESC LIMIT $3`,
    [workspaceId, month, limit],
  );
  return rows;
}

/** Deletes events that are older than `days`. Returns their number, at most `limit`. */
export async function pruneEvents(
  database: Database,
  { days, limit }: { days: number; limit: number },
): Promise<number> {
  const { rowCount } = await database.query(
    `DELETE FROM quota.events e USING (
       SELECT workspace_id, event_id FROM quota.events WHERE occurred_at < now() - make_interval(days => $1) ORDER BY occurred_at LIMIT $2
     ) o WHERE e.workspace_id = o.workspace_id AND e.event_id = o.event_id`,
    [days, limit],
  );
  return rowCount ?? 0;
}
