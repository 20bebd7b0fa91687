import { type Database, workspaceTransaction } from "@parley/service-kit";
import {
  type ClaimedEmail,
  EXPIRES_AFTER_HOURS,
  MAX_EMAILS_PER_HOUR,
  type RecipientRef,
  type SendResult,
  VISITORS_TYPES,
} from "./email.ts";

/** An attempt that has no stored result after this time is made again: its process died, or the database was away. */
const CLAIM_SECONDS = 60;
const HELD_BATCH = 1_000;

/** Lists the workspaces with messages that are due. */
export async function listDueWorkspaces(database: Database): Promise<string[]> {
  const { rows } = await database.query<{ workspaceId: string }>({
    name: "list_due_emails",
    text: `SELECT DISTINCT workspace_id AS "workspaceId" FROM conversation.email_messages
           WHERE status = 'pending' AND next_attempt_at <= now()`,
    values: [],
  });
  return rows.map(({ workspaceId }) => workspaceId);
}

const VISITORS_TYPES_SQL = VISITORS_TYPES.map((type) => `'${type}'`).join(", ");

// Each message that was attempted in the last hour counts, whatever became of it. A message that counts may be attempted again.
const isBelowLimit = (operator: "IN" | "NOT IN") => `(
  SELECT count(*) FROM conversation.email_messages a
  WHERE a.workspace_id = $1 AND a.type <> 'summary' AND a.type ${operator} (${VISITORS_TYPES_SQL}) AND a.last_attempt_at > now() - interval '1 hour'
) < ${MAX_EMAILS_PER_HOUR}`;
// PostgreSQL runs each of the two subqueries once for a statement, not for each row.
const IS_BELOW_LIMIT = `CASE WHEN m.type IN (${VISITORS_TYPES_SQL}) THEN ${isBelowLimit("IN")} ELSE ${isBelowLimit("NOT IN")} END`;
const IS_COUNTED = "coalesce(m.last_attempt_at > now() - interval '1 hour', false)";

const CLAIM = `
  WITH next AS (
    SELECT m.recipient_id, m.event_id FROM conversation.email_messages m
    WHERE m.workspace_id = $1 AND m.status = 'pending' AND m.next_attempt_at <= now()
      AND (m.type = 'summary' OR ${IS_COUNTED} OR ${IS_BELOW_LIMIT})
    ORDER BY m.next_attempt_at, m.occurred_at, m.event_id, m.recipient_id LIMIT 1
  )
  UPDATE conversation.email_messages m
  SET attempts = m.attempts + 1, last_attempt_at = now(), next_attempt_at = now() + make_interval(secs => ${CLAIM_SECONDS})
  FROM next n LEFT JOIN conversation.email_recipients r ON r.workspace_id = $1 AND r.recipient_id = n.recipient_id
  WHERE m.workspace_id = $1 AND m.recipient_id = n.recipient_id AND m.event_id = n.event_id
  RETURNING m.workspace_id AS "workspaceId", m.recipient_id AS "recipientId", m.event_id AS "eventId", m.type,
            m.occurred_at AS "occurredAt", m.data, m.attempts, m.created_at AS "createdAt", r.address, r.language`;

const HOLD = `
  UPDATE conversation.email_messages m SET status = 'held', next_attempt_at = NULL
  WHERE m.workspace_id = $1 AND (m.recipient_id, m.event_id) IN (
    SELECT m.recipient_id, m.event_id FROM conversation.email_messages m
    WHERE m.workspace_id = $1 AND m.status = 'pending' AND m.next_attempt_at <= now() AND m.type <> 'summary' AND NOT ${IS_COUNTED}
      AND NOT ${IS_BELOW_LIMIT}
    LIMIT ${HELD_BATCH}
  )`;

/**
 * Claims the message of a workspace that has been due for the longest time and is below its limit of an hour. If there is none, holds the due messages
 * for the summary instead, and returns how many. Returns undefined if nothing is due.
 */
export async function claimEmail(
  database: Database,
  workspaceId: string,
): Promise<ClaimedEmail | { held: number } | undefined> {
  return workspaceTransaction(database, { table: "conversation.email_messages", workspaceId }, async (connection) => {
    const { rows } = await connection.query<ClaimedEmail>(CLAIM, [workspaceId]);
    if (rows[0] !== undefined) return rows[0];
    const { rowCount } = await connection.query(HOLD, [workspaceId]);
    return rowCount ? { held: rowCount } : undefined;
  });
}

/** Stores the result of an attempt. `waitSeconds` is the wait before the next one. */
export async function storeResult(
  database: Database,
  { workspaceId, recipientId, eventId }: ClaimedEmail,
  result: SendResult,
  waitSeconds: number,
): Promise<void> {
  const status = result.status === "retry" ? "pending" : result.status;
  const error = result.status === "sent" ? null : result.error;
  await database.query({
    name: "store_email_result",
    text: `UPDATE conversation.email_messages
           SET status = $4, error = $5, next_attempt_at = CASE WHEN $4 = 'pending' THEN now() + make_interval(secs => $6) END
           WHERE workspace_id = $1 AND recipient_id = $2 AND event_id = $3 AND status = 'pending'`,
    values: [workspaceId, recipientId, eventId, status, error, waitSeconds],
  });
}

const QUEUE_TEST = `
  INSERT INTO conversation.email_messages AS m (workspace_id, recipient_id, event_id, type, occurred_at, data, next_attempt_at)
  SELECT r.workspace_id, r.recipient_id, gen_random_uuid(), 'test', now(), '{}', now()
  FROM conversation.email_recipients r
  WHERE r.workspace_id = $1 AND r.recipient_id = $2 AND ${isBelowLimit("NOT IN")}
  RETURNING m.event_id AS "eventId"`;

/** Queues a test message. Returns its event's ID; `limited` if the workspace has reached its limit, and undefined if there is no such recipient. */
export async function queueTestEmail(
  database: Database,
  { workspaceId, recipientId }: RecipientRef,
): Promise<string | "limited" | undefined> {
  const values = [workspaceId, recipientId];
  const { rows } = await database.query<{ eventId: string }>(QUEUE_TEST, values);
  if (rows[0] !== undefined) return rows[0].eventId;
  const { rowCount } = await database.query(
    "SELECT FROM conversation.email_recipients WHERE workspace_id = $1 AND recipient_id = $2",
    values,
  );
  return rowCount === 1 ? "limited" : undefined;
}

// One statement replaces the held messages by the summary, so that each event is counted in one summary.
const QUEUE_SUMMARIES = `
  WITH ready AS (
    SELECT workspace_id, recipient_id FROM conversation.email_messages WHERE status = 'held'
    GROUP BY workspace_id, recipient_id HAVING min(created_at) <= now() - interval '1 hour'
  ), taken AS (
    DELETE FROM conversation.email_messages m USING ready r
    WHERE m.workspace_id = r.workspace_id AND m.recipient_id = r.recipient_id AND m.status = 'held'
    RETURNING m.workspace_id, m.recipient_id, m.type
  ), counted AS (
    SELECT workspace_id, recipient_id, type, count(*) AS events FROM taken GROUP BY workspace_id, recipient_id, type
  )
  INSERT INTO conversation.email_messages (workspace_id, recipient_id, event_id, type, occurred_at, data, next_attempt_at)
  SELECT workspace_id, recipient_id, gen_random_uuid(), 'summary', now(), jsonb_object_agg(type, events), now()
  FROM counted GROUP BY workspace_id, recipient_id`;

/** Queues a summary for each recipient whose first held message is an hour old. */
export async function queueSummaries(database: Database): Promise<void> {
  await database.query({ name: "queue_email_summaries", text: QUEUE_SUMMARIES, values: [] });
}

/** Fails the messages that have waited for too long, for example because the installation has no SMTP_URL any more. */
export async function expireEmails(database: Database): Promise<void> {
  await database.query(
    `UPDATE conversation.email_messages
     SET status = 'failed', next_attempt_at = NULL, error = coalesce(error, 'not sent within ${EXPIRES_AFTER_HOURS} hours')
     WHERE status = 'pending' AND created_at < now() - make_interval(hours => ${EXPIRES_AFTER_HOURS})`,
  );
}

/** Deletes up to `limit` messages that are older than `days`. Returns their number. */
export async function deleteOldEmails(database: Database, days: number, limit: number): Promise<number> {
  const { rowCount } = await database.query(
    `DELETE FROM conversation.email_messages m
     WHERE m.ctid = ANY (ARRAY(
       SELECT old.ctid FROM conversation.email_messages old
       WHERE old.created_at < now() - make_interval(days => $1) ORDER BY old.created_at LIMIT $2
     ))`,
    [days, limit],
  );
  return rowCount ?? 0;
}

/** Returns the age of the oldest message that waits to be sent. */
export async function measureEmails(database: Database): Promise<{ oldestSeconds: number }> {
  const { rows } = await database.query<{ oldestSeconds: number }>(
    `SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS "oldestSeconds"
     FROM conversation.email_messages WHERE status = 'pending'`,
  );
  return rows[0] ?? { oldestSeconds: 0 };
}
