import type { Database } from "@parley/service-kit";

const RATE_MESSAGE = `
  UPDATE conversation.messages m SET rating = $5
  FROM conversation.sessions s
  WHERE s.workspace_id = $1 AND s.session_id = $2 AND s.bot_id = $3 AND s.deleted_at IS NULL AND s.erased_at IS NULL
    AND m.workspace_id = $1 AND m.session_id = $2 AND m.message_id = $4 AND m.role = 'assistant'`;

/** Rates a reply. Returns false if the bot's session has no such reply or was deleted or erased. */
export async function rateMessage(
  database: Database,
  target: { workspaceId: string; sessionId: string; botId: string; messageId: string; rating: string },
): Promise<boolean> {
  const { rowCount } = await database.query({
    name: "rate_message",
    text: RATE_MESSAGE,
    values: [target.workspaceId, target.sessionId, target.botId, target.messageId, target.rating],
  });
  return rowCount === 1;
}
