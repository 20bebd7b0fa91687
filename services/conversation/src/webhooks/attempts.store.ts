import { type Database, type Queryable, transaction } from "@parley/service-kit";
import { pauseSeconds, retrySeconds } from "./retry-schedule.ts";
import { type Attempt, type ClaimedDelivery, type DisabledReason, isDelivered, isGone } from "./webhook.ts";

// An erasure locks the session's row and clears the stored responses. So this statement, which locks the row too, stores no response of an erased
// session.
const STORE_ATTEMPT = `
  WITH session AS (
    SELECT s.erased_at FROM conversation.sessions s
    WHERE s.workspace_id = $1 AND s.session_id = $11::uuid AND $9::text IS NOT NULL FOR SHARE
  )
  UPDATE conversation.webhook_deliveries d
  SET status = $4, attempts = d.attempts + 1, attempted_at = d.attempted_at || $5::timestamptz,
      next_attempt_at = CASE WHEN $4 = 'pending' THEN now() + make_interval(secs => $6) END,
      duration_ms = $7, response_status = $8,
      response_body = CASE WHEN NOT EXISTS (SELECT FROM session WHERE erased_at IS NOT NULL) THEN $9 END, error = $10
  WHERE d.workspace_id = $1 AND d.endpoint_id = $2 AND d.sequence = $3 AND d.status = 'pending'`;

const STORE_SUCCESS = `
  UPDATE conversation.webhook_endpoints SET failing_since = NULL, paused_until = NULL
  WHERE workspace_id = $1 AND endpoint_id = $2 AND (failing_since IS NOT NULL OR paused_until IS NOT NULL)`;

const STORE_FAILURE = `
  UPDATE conversation.webhook_endpoints
  SET failing_since = coalesce(failing_since, now()),
      paused_until = CASE WHEN $3 > 0 THEN greatest(paused_until, now() + make_interval(secs => $3)) ELSE paused_until END
  WHERE workspace_id = $1 AND endpoint_id = $2 AND (failing_since IS NULL OR $3 > 0)`;

const DISABLE = `
  UPDATE conversation.webhook_endpoints SET disabled_at = now(), disabled_reason = $3
  WHERE workspace_id = $1 AND endpoint_id = $2 AND disabled_at IS NULL`;

export type StoredAttempt = {
  /** What became of the delivery. */
  result: "delivered" | "retried" | "failed";
  /** Why this attempt disabled the endpoint. */
  disabled: DisabledReason | undefined;
};

/**
 * Stores the result of an attempt, and disables the endpoint if the receiver is gone or has failed for too long. `onDisabled` runs in the
 * transaction that disables it.
 */
export async function recordAttempt(
  database: Database,
  delivery: ClaimedDelivery,
  attempt: Attempt,
  onDisabled: (connection: Queryable, reason: DisabledReason) => Promise<void>,
): Promise<StoredAttempt> {
  const { workspaceId, endpointId } = delivery;
  const waitSeconds = isGone(attempt) ? undefined : retrySeconds(delivery.attempts + 1, attempt);
  const result = isDelivered(attempt) ? "delivered" : waitSeconds === undefined ? "failed" : "retried";
  await storeAttempt(database, delivery, attempt, { result, waitSeconds });
  if (result === "delivered") {
    await database.query({ name: "webhook_success", text: STORE_SUCCESS, values: [workspaceId, endpointId] });
    return { result, disabled: undefined };
  }
  const reason = isGone(attempt) ? "gone" : delivery.isFailingTooLong ? "failing" : undefined;
  if (reason === undefined) {
    const values = [workspaceId, endpointId, pauseSeconds(attempt)];
    await database.query({ name: "webhook_failure", text: STORE_FAILURE, values });
    return { result, disabled: undefined };
  }
  const isDisabled = await transaction(database, async (connection) => {
    const { rowCount } = await connection.query(DISABLE, [workspaceId, endpointId, reason]);
    if (rowCount === 1) await onDisabled(connection, reason);
    return rowCount === 1;
  });
  return { result, disabled: isDisabled ? reason : undefined };
}

async function storeAttempt(
  database: Database,
  { workspaceId, endpointId, sequence, sessionId }: ClaimedDelivery,
  { startedAt, durationMs, status, body, error }: Attempt,
  { result, waitSeconds }: Pick<StoredAttempt, "result"> & { waitSeconds: number | undefined },
): Promise<void> {
  const next = [result === "retried" ? "pending" : result, startedAt, waitSeconds, durationMs];
  // PostgreSQL cannot store NUL.
  const response = [status, body?.replaceAll("\0", "\uFFFD") || null, error];
  const values = [workspaceId, endpointId, sequence, ...next, ...response, sessionId];
  await database.query({ name: "store_webhook_attempt", text: STORE_ATTEMPT, values });
}
