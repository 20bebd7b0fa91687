import type { Database } from "@parley/service-kit";
import { readTask } from "../leases/index.ts";
import { recordEventSql } from "./record-event.store.ts";

/** The task whose progress is the position in quota's list of events. */
export const USAGE_EVENTS_TASK = "usage_events";

/** An event of quota's database. */
export type UsageEvent = {
  id: string;
  workspaceId: string;
  type: string;
  /** RFC 3339 */
  occurredAt: string;
  data: Record<string, string | number>;
};

// One statement records the events and the position after them, so a failure loses none and doubles none.
const RECORD = `
  WITH listed AS (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS l ("workspaceId" text, id uuid, type text, "occurredAt" timestamptz, data jsonb)
  ), added AS (
    INSERT INTO conversation.usage_events (workspace_id, event_id)
    SELECT l."workspaceId", l.id FROM listed l ORDER BY l."workspaceId", l.id
    ON CONFLICT DO NOTHING
    RETURNING workspace_id, event_id
  ), new AS (
    SELECT l.* FROM listed l JOIN added a ON a.workspace_id = l."workspaceId" AND a.event_id = l.id
  ), recorded AS (${recordEventSql({
    source: "new",
    workspace: 'new."workspaceId"',
    type: "new.type",
    session: "NULL::uuid",
    data: "new.data",
    id: "new.id",
    occurredAt: 'new."occurredAt"',
  })})
  UPDATE conversation.task_leases SET progress = jsonb_build_object('next', $2::text) WHERE task = $3`;

/** Records the events that are not recorded yet, and from which position the next ones are read. */
export async function recordUsageEvents(database: Database, events: UsageEvent[], next: bigint): Promise<void> {
  const values = [JSON.stringify(events), String(next), USAGE_EVENTS_TASK];
  await database.query({ name: "record_usage_events", text: RECORD, values });
}

/** Returns the position after which the next events are read. */
export async function readUsageEventPosition(database: Database): Promise<bigint> {
  const { next = "0" } = (await readTask(database, USAGE_EVENTS_TASK))?.progress ?? {};
  return BigInt(next);
}

/** Forgets up to `limit` events that were recorded more than `days` ago. Returns their number. */
export async function forgetUsageEvents(database: Database, days: number, limit: number): Promise<number> {
  const { rowCount } = await database.query(
    `DELETE FROM conversation.usage_events e USING (
       SELECT workspace_id, event_id FROM conversation.usage_events
       WHERE recorded_at < now() - make_interval(days => $1) ORDER BY recorded_at LIMIT $2
     ) old
     WHERE e.workspace_id = old.workspace_id AND e.event_id = old.event_id`,
    [days, limit],
  );
  return rowCount ?? 0;
}
