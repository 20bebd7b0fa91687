/** Tables whose rows the service's role may not change or delete. Only conversation.prune_turns, which runs with its owner's rights, does. */
export const APPEND_ONLY_TABLES = ["turn_totals"] as const;
