/** The service adds rows to these tables and never changes one. Only the functions of the migrations do. */
export const APPEND_ONLY_TABLES = ["turn_totals"] as const;
