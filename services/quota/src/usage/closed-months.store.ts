import { CURRENT_MONTH } from "./usage.store.ts";

/**
 * CTEs: `past` locks the past months of the CTE `input`, and `closed` returns those that are closed. CloseMonth waits for these locks before it
 * reads the usage. If CloseMonth locked a month first, `past` waits for it and then reads the current `closed_at`. `past` must lock open months
 * too, so PostgreSQL must not move the condition of `closed` into `past`: FOR SHARE and MATERIALIZED each prevent that. `past` omits the current
 * month, which cannot be closed.
 */
export const LOCK_PAST_MONTHS = `
  past AS MATERIALIZED (
    SELECT m.month, m.closed_at FROM quota.months m
    WHERE m.month IN (SELECT month FROM input WHERE month < ${CURRENT_MONTH})
    ORDER BY m.month
    FOR SHARE OF m
  ), closed AS MATERIALIZED (
    SELECT month FROM past WHERE closed_at IS NOT NULL
  )`;
