import type { Bot } from "../bots/bots.store.ts";
import { openTurn } from "../turns/open-turn.store.ts";
import type { TestSystem } from "./system.ts";
import { newTurn } from "./turns.ts";

export async function collect(pieces: AsyncIterable<{ json: Uint8Array }>) {
  const all: Uint8Array[] = [];
  for await (const { json } of pieces) all.push(json);
  return { pieces: all, text: Buffer.concat(all).toString() };
}

/** Creates a session with a streaming turn and `turns` finished turns. Returns the session's id. */
export async function createLongSession(system: TestSystem, bot: Bot, turns: number, content = "x".repeat(500)) {
  const turn = newTurn(bot);
  const opened = await openTurn(system.database, turn);
  const { sessionId } = turn;
  await system.admin.query(
    `WITH ids AS (SELECT $6::bigint - 1 + 2 * n AS id, gen_random_uuid() AS turn_id FROM generate_series(1, $3::int) n),
     session AS (
       UPDATE conversation.sessions SET last_message_id = $6::bigint + 2 * $3 WHERE workspace_id = $1 AND session_id = $2
     ),
     turn AS (
       INSERT INTO conversation.turns (workspace_id, turn_id, session_id, message_id, bot_id, edge_id, status, month, asked_model, model, opened_at, closed_at)
       SELECT $1, turn_id, $2, id + 1, $4, $4, 'done', '2026-11-01', '', 'a:b', now(), now() FROM ids
     )
     INSERT INTO conversation.messages (workspace_id, session_id, message_id, turn_id, role, content, status, created_at)
     SELECT $1, $2::uuid, id, turn_id, 'user', $5::text, 'done', now() FROM ids
     UNION ALL SELECT $1, $2::uuid, id + 1, turn_id, 'assistant', $5::text, 'done', now() FROM ids`,
    [bot.workspaceId, sessionId, turns, bot.id, content, opened?.messageId],
  );
  return sessionId;
}
