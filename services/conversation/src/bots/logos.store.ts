import type { Database } from "@parley/service-kit";
import { transaction } from "@parley/service-kit";
import type { BotRef } from "./bots.store.ts";

export type Logo = { contentType: string; content: Uint8Array };

/** How many logos of a bot are kept besides the one in use: visitors' pages may show an earlier one for a minute. */
const MAX_UNUSED_LOGOS = 3;

const DELETE_OLD_LOGOS = `
  DELETE FROM conversation.bot_logos
  WHERE workspace_id = $1 AND bot_id = $2 AND hash IN (
    SELECT l.hash FROM conversation.bot_logos l
    JOIN conversation.bots b ON b.workspace_id = l.workspace_id AND b.bot_id = l.bot_id
    WHERE l.workspace_id = $1 AND l.bot_id = $2 AND strpos(b.display->>'logoUrl', l.hash) = 0
    ORDER BY l.created_at DESC OFFSET ${MAX_UNUSED_LOGOS}
  )`;

/** Stores a logo of a bot, and deletes old ones that the bot does not use. */
export async function insertLogo(
  database: Database,
  { workspaceId, botId }: BotRef,
  { hash, contentType, content }: Logo & { hash: string },
): Promise<void> {
  await transaction(database, async (connection) => {
    await connection.query(
      `INSERT INTO conversation.bot_logos (workspace_id, bot_id, hash, content_type, content) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (workspace_id, bot_id, hash) DO UPDATE SET created_at = now()`,
      [workspaceId, botId, hash, contentType, content],
    );
    await connection.query(DELETE_OLD_LOGOS, [workspaceId, botId]);
  });
}

/** Returns a logo by the hash of its content: the bots of several workspaces may have the same. */
export async function findLogo(database: Database, hash: string): Promise<Logo | undefined> {
  const { rows } = await database.query<Logo>({
    name: "find_logo",
    text: `SELECT content_type AS "contentType", content FROM conversation.bot_logos WHERE hash = $1 LIMIT 1`,
    values: [hash],
  });
  return rows[0];
}
