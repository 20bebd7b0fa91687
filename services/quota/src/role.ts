/** Limits how long a statement waits for a locked usage row. Without it, the wait would hold a connection until statement_timeout (10 s). */
export const ROLE_TIMEOUTS = { lock_timeout: "2s" } as const;

/**
 * Tables whose rows the service's role may not change or delete. A correction is stored as a new row. Only the SQL function `quota.prune_ledger`
 * deletes rows of `ledger`, and adds their number and digest to `ledger_totals`. It runs with its owner's rights.
 */
export const APPEND_ONLY_TABLES = ["ledger", "ledger_totals", "adjustments", "plan_changes"] as const;
