import { randomUUID } from "node:crypto";
import type { Database } from "@parley/service-kit";
import type { Bot } from "../bots/bots.store.ts";

/**
 * Inserts sessions, each with the messages of `turns` finished turns, but without rows in conversation.turns. Session n, counted from 1, started
 * and was last active n minutes ago.
 */
export async function insertSessions(
  admin: Database,
  bot: Bot,
  { sessions, turns = 1, content = "Hello" }: { sessions: number; turns?: number; content?: string },
): Promise<string[]> {
  const ids = Array.from({ length: sessions }, () => randomUUID());
  await admin.query(
    `INSERT INTO conversation.sessions (
       workspace_id, session_id, bot_id, source, visitor_id, visitor_metadata, referrer, user_agent, started_at, last_activity_at,
       last_message_id, message_count
     )
     SELECT $1, id, $2, 'widget', '', '{}', '', '', at, at, $4 * 2, $4 * 2
     FROM unnest($3::uuid[]) WITH ORDINALITY AS s (id, number)
     CROSS JOIN LATERAL (SELECT now() - number * interval '1 minute' AS at) t`,
    [bot.workspaceId, bot.id, ids, turns],
  );
  await admin.query(
    `INSERT INTO conversation.messages (workspace_id, session_id, message_id, turn_id, role, content, status, created_at, closed_at)
     SELECT $1, session_id, 2 * turn - 1 + part, gen_random_uuid(), CASE part WHEN 0 THEN 'user' ELSE 'assistant' END, $4, 'done', now(), now()
     FROM unnest($2::uuid[]) session_id, generate_series(1, $3::integer) turn, generate_series(0, 1) part`,
    [bot.workspaceId, ids, turns, content],
  );
  return ids;
}

/** Locks tables, so that every statement that changes them waits. Returns a function that unlocks them. */
export async function lockTables(admin: Database, ...tables: string[]): Promise<() => Promise<void>> {
  const locker = await admin.connect();
  await locker.query(`BEGIN; LOCK TABLE ${tables.join()} IN EXCLUSIVE MODE`);
  return async () => {
    await locker.query("ROLLBACK");
    locker.release();
  };
}
