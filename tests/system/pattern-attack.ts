import { query } from "./database.ts";
import type { System, Tenant } from "./system.ts";

/**
 * Stores fifty patterns whose lazily built automata need new states for each new text. They exceed today's limit for a bot, so they are
 * inserted directly: a bot may have kept them from a version without the limit.
 */
export async function storeSlowPatterns({ database }: Pick<System, "database">, tenant: Tenant): Promise<void> {
  await query(
    database,
    `INSERT INTO conversation.moderation_patterns (workspace_id, bot_id, pattern, reason, fallback, applies_to)
     SELECT $1, bot_id, '(buy|sell|send).{0,60}(bitcoin|crypto)' || number, 'blocked_pattern', '', 'message'
     FROM conversation.bots, generate_series(1, 50) number WHERE workspace_id = $1 AND slug = $2`,
    [tenant.workspaceId, tenant.botSlug],
  );
}

/** Returns a random message of 4,000 characters made of the words in these patterns. */
export function slowMessage(): string {
  const words = ["buy", "sell", "send", " ", "a", "go ", "xy"];
  return Array.from({ length: 2_000 }, () => words[Math.floor(Math.random() * words.length)])
    .join("")
    .slice(0, 4_000);
}
