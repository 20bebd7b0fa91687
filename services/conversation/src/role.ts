/**
 * Tables whose rows the service's role may not change or delete. Only the function conversation.prune_turns changes them: it runs with its
 * owner's rights.
 */
export const APPEND_ONLY_TABLES = ["turn_totals"] as const;
