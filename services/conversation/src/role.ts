/**
 * Tables whose rows the service's role may not change or delete. The SQL function `conversation.prune_turns`, which runs with its owner's
 * rights, adds the turns that it prunes to the totals in `turn_totals`.
 */
export const APPEND_ONLY_TABLES = ["turn_totals"] as const;
