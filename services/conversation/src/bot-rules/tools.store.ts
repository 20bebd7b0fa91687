import type { Database } from "@parley/service-kit";

/** A parley.llm.v1.Tool in protobuf's JSON. */
export type ToolDefinition = Record<string, unknown>;

type Bot = { workspaceId: string; botId: string };

/** Stores a tool of a bot in place of the one of its name; false when it would be one more than `limit`. */
export async function putTool(
  database: Database,
  { workspaceId, botId }: Bot,
  tool: { name: string; definition: ToolDefinition },
  limit: number,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `INSERT INTO conversation.tools (workspace_id, bot_id, name, definition)
     SELECT $1, $2, $3, $4
     WHERE (SELECT count(*) FROM conversation.tools WHERE workspace_id = $1 AND bot_id = $2 AND name <> $3) < $5
     ON CONFLICT (workspace_id, bot_id, name) DO UPDATE SET definition = excluded.definition`,
    [workspaceId, botId, tool.name, tool.definition, limit],
  );
  return rowCount === 1;
}

/** A bot's tools, by name. */
export async function listTools(database: Database, { workspaceId, botId }: Bot): Promise<ToolDefinition[]> {
  const { rows } = await database.query<{ definition: ToolDefinition }>(
    "SELECT definition FROM conversation.tools WHERE workspace_id = $1 AND bot_id = $2 ORDER BY name",
    [workspaceId, botId],
  );
  return rows.map((row) => row.definition);
}

/** Removes a tool; false when the bot has none of this name. */
export async function deleteTool(database: Database, { workspaceId, botId }: Bot, name: string): Promise<boolean> {
  const { rowCount } = await database.query(
    "DELETE FROM conversation.tools WHERE workspace_id = $1 AND bot_id = $2 AND name = $3",
    [workspaceId, botId, name],
  );
  return rowCount === 1;
}
