/** Without this limit, a statement that waits for a locked usage row would hold its connection until statement_timeout (10 s). */
export const ROLE_TIMEOUTS = { lock_timeout: "2s" } as const;

/**
 * Tables whose rows the service's role may not change or delete. The SQL function `quota.prune_ledger`, which runs with its owner's
 * rights, moves rows of `ledger` to the totals in `ledger_totals`.
 */
export const APPEND_ONLY_TABLES = ["ledger", "ledger_totals", "adjustments", "plan_changes"] as const;
