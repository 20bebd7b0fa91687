import { type Database, workspaceTransaction } from "@parley/service-kit";
import type { ToolDefinition } from "./tool-definition.ts";

/** A copy of BotRef of bots/. Importing that type would create a cycle, because bots/index.ts imports this feature. */
export type BotRef = { workspaceId: string; botId: string };

/** `isOwners` is whether an owner added the tool, and not the operator. */
export type NewTool = { name: string; definition: ToolDefinition; isOwners: boolean };

/**
 * Adds a tool to a bot, or replaces the tool with this name. An owner's tool does not replace the operator's. Returns `full` if the bot would have
 * more than `limit` tools.
 */
export async function putTool(
  database: Database,
  { workspaceId, botId }: BotRef,
  tool: NewTool,
  limit: number,
): Promise<"stored" | "full" | "operators"> {
  return workspaceTransaction(database, { table: "conversation.tools", workspaceId }, async (connection) => {
    const { rowCount } = await connection.query(
      `INSERT INTO conversation.tools AS stored (workspace_id, bot_id, name, definition)
       SELECT $1, $2, $3, $4
       WHERE (SELECT count(*) FROM conversation.tools WHERE workspace_id = $1 AND bot_id = $2 AND name <> $3) < $5
       ON CONFLICT (workspace_id, bot_id, name) DO UPDATE SET definition = excluded.definition
       WHERE NOT $6 OR stored.definition -> 'byOwner' = 'true'`,
      [workspaceId, botId, tool.name, tool.definition, limit, tool.isOwners],
    );
    if (rowCount === 1) return "stored";
    const { rowCount: existing } = await connection.query(
      "SELECT FROM conversation.tools WHERE workspace_id = $1 AND bot_id = $2 AND name = $3",
      [workspaceId, botId, tool.name],
    );
    return existing === 1 ? "operators" : "full";
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
