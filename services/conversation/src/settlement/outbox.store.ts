import { type Database, NIL_UUID } from "@parley/service-kit";
import { LONGEST_TRANSACTION_SECONDS, type Settlement } from "../turns/index.ts";

/** `createdAt` is when the turn was closed, or when the reconciliation put its settlement into the outbox again, by the database's clock. */
export type OutboxEntry = Settlement & { createdAt: string };

const READ_OUTBOX = `
  SELECT workspace_id AS "workspaceId", turn_id AS "turnId", outcome, to_char(month, 'YYYY-MM') AS month,
         to_char(unpaid_day, 'YYYY-MM-DD') AS "unpaidDay", created_at::text AS "createdAt"
  FROM conversation.outbox
  WHERE created_at < now() - make_interval(secs => $1)
    AND (created_at, workspace_id, turn_id) > ($2::timestamptz, $3, $4::uuid)
  ORDER BY created_at, workspace_id, turn_id
  LIMIT $5`;

export type OutboxPosition = Pick<OutboxEntry, "createdAt" | "workspaceId" | "turnId">;

/** Returns the position before all settlements with this `createdAt` or a later one; by default the start of the outbox. */
export function positionBefore(createdAt = "-infinity"): OutboxPosition {
  return { createdAt, workspaceId: "", turnId: NIL_UUID };
}

/** Returns at most `limit` settlements after the position `after`, oldest first. Each is at least `minAgeSeconds` old. */
export async function readOutbox(
  database: Database,
  { after, minAgeSeconds, limit }: { after: OutboxPosition; minAgeSeconds: number; limit: number },
): Promise<OutboxEntry[]> {
  const position = [after.createdAt, after.workspaceId, after.turnId];
  const { rows } = await database.query<OutboxEntry>({
    name: "read_outbox",
    text: READ_OUTBOX,
    values: [minAgeSeconds, ...position, limit],
  });
  return rows;
}

/**
 * Returns a time from which the next reads may start (see QueueReadStart): no running transaction will add a row with an earlier created_at, except
 * an erasure, which may run longer than LONGEST_TRANSACTION_SECONDS.
 * The process that runs the erasure settles the turns that the erasure closes. If that process dies, the next full read of the outbox finds
 * their settlements.
 */
export async function readOutboxMark(database: Database): Promise<string> {
  const { rows } = await database.query<{ mark: string }>({
    name: "read_outbox_mark",
    text: "SELECT (now() - make_interval(secs => $1))::text AS mark",
    values: [LONGEST_TRANSACTION_SECONDS],
  });
  return rows[0]?.mark ?? "-infinity";
}

// A locked row is being deleted by another replica, which has settled it too. Skipping it avoids deadlocks.
const DELETE_SETTLED = `
  WITH settled AS (
    SELECT o.workspace_id, o.turn_id
    FROM unnest($1::text[], $2::uuid[]) AS s (workspace_id, turn_id)
    JOIN conversation.outbox o USING (workspace_id, turn_id)
    FOR UPDATE OF o SKIP LOCKED
  )
  DELETE FROM conversation.outbox o USING settled s
  WHERE o.workspace_id = s.workspace_id AND o.turn_id = s.turn_id
  RETURNING extract(epoch FROM clock_timestamp() - o.created_at)::float8 AS lag`;

/** Deletes settled turns from the outbox. Returns the seconds that each of them spent in the outbox. */
export async function deleteSettled(
  database: Database,
  turns: readonly { workspaceId: string; turnId: string }[],
): Promise<number[]> {
  const { rows } = await database.query<{ lag: number }>({
    name: "delete_settled",
    text: DELETE_SETTLED,
    values: [turns.map((turn) => turn.workspaceId), turns.map((turn) => turn.turnId)],
  });
  return rows.map((row) => row.lag);
}

const MAX_DEPTH = 100_000;

/**
 * Returns the number of settlements in the outbox, at most 100,000, and the age of the oldest one. While a long transaction such as a dump is
 * open, the index keeps the entries of deleted rows. The count starts at the oldest settlement, so that only min() reads these entries.
 */
export async function measureOutbox(database: Database): Promise<{ depth: number; oldestSeconds: number }> {
  const { rows } = await database.query<{ depth: number; oldestSeconds: number }>(
    `WITH oldest AS MATERIALIZED (SELECT min(created_at) AS at FROM conversation.outbox)
     SELECT (SELECT count(*) FROM (SELECT FROM conversation.outbox, oldest WHERE created_at >= oldest.at LIMIT ${MAX_DEPTH}) o) AS depth,
            coalesce(extract(epoch FROM now() - oldest.at), 0)::float8 AS "oldestSeconds"
     FROM oldest`,
  );
  return rows[0] ?? { depth: 0, oldestSeconds: 0 };
}
