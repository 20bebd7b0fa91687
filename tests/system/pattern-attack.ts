import { setTimeout as sleep } from "node:timers/promises";
import { queryFirstRow } from "./database.ts";
import type { System, Tenant } from "./system.ts";
import { visit } from "./visitors.ts";

const CLIENTS = 4;
/** The conversation service refuses a message that has waited this long for matching. */
const MAX_MATCHING_WAIT_MS = 5_000;

/**
 * Stores fifty patterns whose lazily built automata need new states for each new text. Inserts them with SQL, because their total size
 * exceeds a bot's limit. A bot may still have such patterns from a version without that limit.
 */
export async function storeSlowPatterns({ database }: Pick<System, "database">, tenant: Tenant): Promise<void> {
  await queryFirstRow(
    database,
    `INSERT INTO conversation.moderation_patterns (workspace_id, bot_id, pattern, reason, fallback, applies_to)
     SELECT $1, bot_id, '(buy|sell|send).{0,60}(bitcoin|crypto)' || number, 'blocked_pattern', '', 'message'
     FROM conversation.bots, generate_series(1, 50) number WHERE workspace_id = $1 AND slug = $2`,
    [tenant.workspaceId, tenant.botSlug],
  );
}

/** Returns a random message of 4,000 characters that is slow to match against the patterns of `storeSlowPatterns`. */
function slowMessage(): string {
  const words = ["buy", "sell", "send", " ", "a", "go ", "xy"];
  return Array.from({ length: 2_000 }, () => words[Math.floor(Math.random() * words.length)])
    .join("")
    .slice(0, 4_000);
}

/** Running traffic. `stop` waits for the last requests and resolves with all response statuses; 0 is a broken connection. */
export type Traffic = { stop(): Promise<number[]> };

/** Sends slow messages from several clients, each without a pause. */
export function sendSlowMessages(url: string, tenant: Tenant): Traffic {
  return sendRepeatedly(url, tenant, 0);
}

/**
 * Sends the same kind of messages to a tenant without patterns. After each reply, a client pauses for about as long as a client of
 * `sendSlowMessages` waits for the matching. So both kinds of clients send about equally often, and only the matching differs.
 */
export function sendBaselineMessages(url: string, tenant: Tenant): Traffic {
  return sendRepeatedly(url, tenant, MAX_MATCHING_WAIT_MS);
}

function sendRepeatedly(url: string, tenant: Tenant, pauseMs: number): Traffic {
  const stopped = new AbortController();
  const statuses: number[] = [];
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!stopped.signal.aborted) {
      const result = await visit(url, tenant, { message: slowMessage() });
      statuses.push(result.kind === "stream" ? 200 : result.kind === "plain" ? result.status : 0);
      await sleep(pauseMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  });
  return {
    async stop() {
      stopped.abort();
      await Promise.all(clients);
      return statuses;
    },
  };
}
