import { type Database, workspaceTransaction } from "@parley/service-kit";
import type { BotPatch } from "./bot-changes.ts";
import type { Display } from "./bot-display.ts";

export type Bot = {
  id: string;
  workspaceId: string;
  slug: string;
  model: string;
  systemPrompt: string;
  /** The text to show instead of a reply if the moderation pattern that matched has no fallback of its own. */
  fallback: string;
  /** An IANA name. */
  timeZone: string;
  display: Display;
  createdAt: Date;
};

/** Identifies a bot in the tables. */
export type BotRef = { workspaceId: string; botId: string };

const BOT_COLUMNS = `bot_id AS id, workspace_id AS "workspaceId", slug, model, system_prompt AS "systemPrompt", fallback,
             time_zone AS "timeZone", display, created_at AS "createdAt"`;

export async function findBotId(database: Database, workspaceId: string, slug: string): Promise<string | undefined> {
  const { rows } = await database.query<{ id: string }>({
    name: "find_bot_id",
    text: "SELECT bot_id AS id FROM conversation.bots WHERE workspace_id = $1 AND slug = $2",
    values: [workspaceId, slug],
  });
  return rows[0]?.id;
}

export async function findBot(database: Database, workspaceId: string, slug: string): Promise<Bot | undefined> {
  const { rows } = await database.query<Bot>(
    `SELECT ${BOT_COLUMNS} FROM conversation.bots WHERE workspace_id = $1 AND slug = $2`,
    [workspaceId, slug],
  );
  return rows[0];
}

export async function listBots(database: Database, workspaceId: string): Promise<Bot[]> {
  const { rows } = await database.query<Bot>(
    `SELECT ${BOT_COLUMNS} FROM conversation.bots WHERE workspace_id = $1 ORDER BY slug`,
    [workspaceId],
  );
  return rows;
}

/** Stores a bot. Returns `full` if the workspace has `limit` bots, otherwise `exists` if it has a bot with this slug. */
export async function insertBot(
  database: Database,
  bot: Omit<Bot, "createdAt">,
  limit: number,
): Promise<Bot | "exists" | "full"> {
  return workspaceTransaction(database, bot.workspaceId, async (connection) => {
    const counted = await connection.query<{ bots: number }>(
      "SELECT count(*) AS bots FROM conversation.bots WHERE workspace_id = $1",
      [bot.workspaceId],
    );
    if ((counted.rows[0]?.bots ?? 0) >= limit) return "full";
    const { rows } = await connection.query<Bot>(
      `INSERT INTO conversation.bots (workspace_id, bot_id, slug, model, system_prompt, fallback, time_zone, display)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (workspace_id, slug) DO NOTHING RETURNING ${BOT_COLUMNS}`,
      [bot.workspaceId, bot.id, bot.slug, bot.model, bot.systemPrompt, bot.fallback, bot.timeZone, bot.display],
    );
    return rows[0] ?? "exists";
  });
}

/** Changes the fields that the patch contains. Returns undefined if the workspace has no such bot. */
export async function updateBot(
  database: Database,
  workspaceId: string,
  slug: string,
  patch: BotPatch,
): Promise<Bot | undefined> {
  const { rows } = await database.query<Bot>(
    `UPDATE conversation.bots
     SET model = coalesce($3, model), system_prompt = coalesce($4, system_prompt), fallback = coalesce($5, fallback),
         time_zone = coalesce($6, time_zone), display = display || $7::jsonb
     WHERE workspace_id = $1 AND slug = $2 RETURNING ${BOT_COLUMNS}`,
    [workspaceId, slug, patch.model, patch.systemPrompt, patch.fallback, patch.timeZone, patch.display],
  );
  return rows[0];
}
