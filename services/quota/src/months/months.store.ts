import { type Database, transaction } from "@parley/service-kit";
import { planOfMonth } from "../usage/index.ts";

/** A month with usage. Times are RFC 3339 in UTC, or empty. */
export type Month = {
  /** "YYYY-MM". */
  month: string;
  /** Messages counted in all workspaces. */
  used: number;
  /** Messages held in all workspaces. */
  held: number;
  /** Messages whose rows of the usage ledger were pruned. */
  pruned: number;
  closedAt: string;
  prunedAt: string;
  /** Seconds since the month's end by the database's clock; negative for the current month. */
  endedSeconds: number;
};

/** Returns SQL for a time as RFC 3339 in UTC; an empty string for NULL. */
const rfc3339Sql = (time: string) => `coalesce(to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '')`;
const MONTH_END = "((m.month + interval '1 month') AT TIME ZONE 'UTC')";

// The recursive query reads one index entry per month. $1: the months of other shards.
const ADD_MONTHS = `
  WITH RECURSIVE known (month) AS (
    SELECT min(u.month) FROM quota.usage u
    UNION ALL
    SELECT (SELECT min(u.month) FROM quota.usage u WHERE u.month > k.month) FROM known k WHERE k.month IS NOT NULL
  )
  INSERT INTO quota.months (month)
  SELECT k.month FROM (SELECT month FROM known UNION SELECT to_date(m, 'YYYY-MM') FROM unnest($1::text[]) m) k
  WHERE k.month IS NOT NULL AND NOT EXISTS (SELECT FROM quota.months m WHERE m.month = k.month)
  ON CONFLICT DO NOTHING`;

/** Adds the months with usage, and those that other shards have, if they are missing in quota.months. */
export async function addMonths(database: Database, monthsOfOthers: readonly string[] = []): Promise<void> {
  await database.query(ADD_MONTHS, [monthsOfOthers]);
}

/** Returns the months of quota.months, "YYYY-MM". */
export async function listKnownMonths(database: Database): Promise<string[]> {
  const { rows } = await database.query<{ month: string }>(
    "SELECT to_char(month, 'YYYY-MM') AS month FROM quota.months",
  );
  return rows.map(({ month }) => month);
}

const LIST_MONTHS = `
  SELECT to_char(m.month, 'YYYY-MM') AS month, usage.used, usage.held, coalesce(total.pruned, 0)::bigint AS pruned,
         ${rfc3339Sql("m.closed_at")} AS "closedAt", ${rfc3339Sql("m.pruned_at")} AS "prunedAt",
         extract(epoch FROM now() - ${MONTH_END})::float8 AS "endedSeconds"
  FROM quota.months m
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(u.used), 0)::bigint AS used, coalesce(sum(u.held), 0)::bigint AS held FROM quota.usage u WHERE u.month = m.month
  ) usage
  LEFT JOIN (SELECT t.month, sum(t.turns) AS pruned FROM quota.ledger_totals t GROUP BY t.month) total USING (month)
  ORDER BY month DESC`;

/** Returns every month with usage, newest first. A month appears within an hour after its first usage. */
export async function listMonths(database: Database): Promise<Month[]> {
  const { rows } = await database.query<Month>(LIST_MONTHS);
  return rows;
}

/** Returns the seconds since the end of the oldest month that has ended and is not closed; 0 if there is none. */
export async function measureUnclosedMonth(database: Database): Promise<{ unclosedSeconds: number }> {
  const { rows } = await database.query<{ unclosedSeconds: number }>(
    `SELECT coalesce(max(greatest(extract(epoch FROM now() - ${MONTH_END}), 0)), 0)::float8 AS "unclosedSeconds"
     FROM quota.months m WHERE m.closed_at IS NULL`,
  );
  return rows[0] ?? { unclosedSeconds: 0 };
}

/** `month_not_ended`: the month has not ended or ended less than a day ago, or its row is missing or less than a minute old. */
export type CloseRefusal = "month_not_ended" | "month_has_holds" | "month_changed";

/**
 * By the database's clock, a month can be closed a day after its end and a minute after its row was created. A Settle that began before the row
 * existed has not locked it. After a minute such a Settle has ended, because the role's statement_timeout is 10 s.
 */
const LOCK_MONTH = `
  SELECT m.closed_at IS NOT NULL AS "isClosed",
         now() >= ${MONTH_END} + interval '1 day' AND m.created_at < now() - interval '1 minute' AS "canClose"
  FROM quota.months m WHERE m.month = to_date($1, 'YYYY-MM') FOR UPDATE`;

// A separate statement, so that its snapshot contains the settlements for which LOCK_MONTH waited.
const READ_TOTALS = `
  SELECT coalesce(sum(used), 0)::bigint AS used,
         coalesce(sum(held), 0) > 0
         OR EXISTS (SELECT FROM quota.reservations WHERE state = 'held' AND month = to_date($1, 'YYYY-MM')) AS "hasHolds"
  FROM quota.usage WHERE month = to_date($1, 'YYYY-MM')`;

// One event for each workspace with usage in the month.
const RECORD_CLOSED = `
  WITH locked AS MATERIALIZED (SELECT quota.lock_events())
  INSERT INTO quota.events (workspace_id, id, type, month, threshold, generation, used, cap)
  SELECT w.workspace_id, quota.event_id_of(w.workspace_id, 'usage.month_closed', u.month, 0, 1), 'usage.month_closed', u.month, 0, 1, u.used, p.monthly_cap
  FROM locked
  CROSS JOIN quota.usage u
  JOIN quota.workspaces w USING (workspace_id)
  JOIN quota.plans p ON p.plan = ${planOfMonth("u.month")}
  WHERE u.month = to_date($1, 'YYYY-MM') AND u.used > 0
  ON CONFLICT DO NOTHING`;

/**
 * Closes a month if nothing is held and the usage of all workspaces still adds up to `used`. Returns undefined if the month is closed, by this call
 * or an earlier one. Settle and AdjustTurns lock the month too, so each of them either commits before the close or sees that the month is closed.
 */
export function closeMonth(database: Database, month: string, used: number): Promise<CloseRefusal | undefined> {
  return transaction(database, async (connection) => {
    const { rows: months } = await connection.query<{ isClosed: boolean; canClose: boolean }>(LOCK_MONTH, [month]);
    if (months[0]?.isClosed) return undefined;
    if (!months[0]?.canClose) return "month_not_ended";
    const { rows } = await connection.query<{ used: number; hasHolds: boolean }>(READ_TOTALS, [month]);
    if (rows[0]?.hasHolds) return "month_has_holds";
    if (rows[0]?.used !== used) return "month_changed";
    await connection.query(RECORD_CLOSED, [month]);
    await connection.query("UPDATE quota.months SET closed_at = now() WHERE month = to_date($1, 'YYYY-MM')", [month]);
    return undefined;
  });
}
