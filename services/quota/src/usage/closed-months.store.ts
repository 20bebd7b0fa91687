import { CURRENT_MONTH } from "./usage.store.ts";

/**
 * CTEs that find which months of the CTE `input` are closed. They lock the past months until the end of the transaction. CloseMonth waits for
 * these locks before it reads the usage. If CloseMonth locked a month first, PostgreSQL reads the row again after the wait, so `closed_at` is
 * current. `past` must also lock the months that are still open; MATERIALIZED keeps the condition of `closed` out of it. The current month
 * cannot be closed, so settling turns of the current month locks no month.
 */
export const LOCK_CLOSED_MONTHS = `
  past AS MATERIALIZED (
    SELECT m.month, m.closed_at FROM quota.months m
    WHERE m.month IN (SELECT month FROM input WHERE month < ${CURRENT_MONTH})
    ORDER BY m.month
    FOR SHARE OF m
  ), closed AS MATERIALIZED (
    SELECT month FROM past WHERE closed_at IS NOT NULL
  )`;
