import { type Database, workspaceTransaction } from "@parley/service-kit";
import type { ToolDefinition } from "./tool-definition.ts";

/** A copy of BotRef of bots/. Importing that type would create a cycle, because bots/index.ts imports this feature. */
export type BotRef = { workspaceId: string; botId: string };

/** Adds a tool to a bot, or replaces the tool with this name. Returns false if the bot would have more than `limit` tools. */
export async function putTool(
  database: Database,
  { workspaceId, botId }: BotRef,
  tool: { name: string; definition: ToolDefinition },
  limit: number,
): Promise<boolean> {
  return workspaceTransaction(database, workspaceId, async (connection) => {
    const { rowCount } = await connection.query(
      `INSERT INTO conversation.tools (workspace_id, bot_id, name, definition)
       SELECT $1, $2, $3, $4
       WHERE (SELECT count(*) FROM conversation.tools WHERE workspace_id = $1 AND bot_id = $2 AND name <> $3) < $5
       ON CONFLICT (workspace_id, bot_id, name) DO UPDATE SET definition = excluded.definition`,
      [workspaceId, botId, tool.name, tool.definition, limit],
    );
    return rowCount === 1;
  });
}

/** Lists a bot's tools, sorted by name. */
export async function listTools(database: Database, { workspaceId, botId }: BotRef): Promise<ToolDefinition[]> {
  const { rows } = await database.query<{ definition: ToolDefinition }>(
    "SELECT definition FROM conversation.tools WHERE workspace_id = $1 AND bot_id = $2 ORDER BY name",
    [workspaceId, botId],
  );
  return rows.map((row) => row.definition);
}

/** Deletes a tool. Returns false if the bot has no tool with this name. */
export async function deleteTool(database: Database, { workspaceId, botId }: BotRef, name: string): Promise<boolean> {
  const { rowCount } = await database.query(
    "DELETE FROM conversation.tools WHERE workspace_id = $1 AND bot_id = $2 AND name = $3",
    [workspaceId, botId, name],
  );
  return rowCount === 1;
}
