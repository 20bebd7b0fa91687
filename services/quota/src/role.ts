/** Limits how long a statement waits for a locked usage row. Without it, the wait would hold a connection until statement_timeout (10 s). */
export const ROLE_TIMEOUTS = { lock_timeout: "2s" } as const;

/** The service adds rows to these tables and never changes one. A correction is another row. */
export const APPEND_ONLY_TABLES = ["ledger", "ledger_totals", "adjustments", "plan_changes"] as const;
