import type { Database } from "@parley/service-kit";

/** A month that the quota service has closed. `closedAt` is RFC 3339. */
export type ClosedMonth = { month: string; closedAt: string };

/** Adds new months to the copy of quota's closed months. Removes months that are open again, for example after a restore of quota's database. */
export async function storeClosedMonths(database: Database, months: readonly ClosedMonth[]): Promise<void> {
  await database.query(
    `WITH closed AS (
       SELECT to_date(month, 'YYYY-MM') AS month, at FROM unnest($1::text[], $2::timestamptz[]) AS c (month, at)
     ), opened_again AS (
       DELETE FROM conversation.closed_months WHERE month NOT IN (SELECT month FROM closed)
     )
     INSERT INTO conversation.closed_months (month, closed_at) SELECT month, at FROM closed ON CONFLICT DO NOTHING`,
    [months.map(({ month }) => month), months.map(({ closedAt }) => closedAt)],
  );
}

/** Why turns of a month may still change its usage. */
export type UnsettledReason = "turns_streaming" | "turns_in_outbox";

// A turn counts in the month of its Reserve, which follows OpenTurn. So a turn that counts in the month was opened before the month's end. The
// hour covers a difference between the clocks of the conversation and quota databases. The outbox row of a turn that is settled as void (not
// counted) may have no month, so the row's created_at is compared too.
const FIND_UNSETTLED = `
  WITH month AS (SELECT (to_date($1, 'YYYY-MM') + interval '1 month') AT TIME ZONE 'UTC' + interval '1 hour' AS until)
  SELECT EXISTS (SELECT FROM conversation.turns t WHERE t.status = 'streaming' AND t.opened_at < month.until) AS "isStreaming",
         EXISTS (
           SELECT FROM conversation.outbox o WHERE o.created_at < month.until OR o.month <= to_date($1, 'YYYY-MM')
         ) AS "isInOutbox"
  FROM month`;

/** Returns why a month's usage may still change; undefined if all of its turns are settled. */
export async function findUnsettledReason(database: Database, month: string): Promise<UnsettledReason | undefined> {
  const { rows } = await database.query<{ isStreaming: boolean; isInOutbox: boolean }>(FIND_UNSETTLED, [month]);
  if (rows[0]?.isStreaming) return "turns_streaming";
  return rows[0]?.isInOutbox ? "turns_in_outbox" : undefined;
}
