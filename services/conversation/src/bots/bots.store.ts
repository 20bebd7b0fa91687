import { type Database, transaction, workspaceTransaction } from "@parley/service-kit";
import type { BotPatch } from "./bot-changes.ts";
import { type BotSettings, type Display, readSettings, type StoredSettings } from "./bot-settings.ts";

export type Bot = BotSettings & BotIdentity;

type BotIdentity = {
  id: string;
  workspaceId: string;
  slug: string;
  display: Display;
  createdAt: Date;
};

type BotRow = BotIdentity & { settings: StoredSettings };

/** Identifies a bot in the tables. */
export type BotRef = { workspaceId: string; botId: string };

const BOT_COLUMNS = `bot_id AS id, workspace_id AS "workspaceId", slug, settings, display, created_at AS "createdAt"`;

const toBot = ({ settings, ...row }: BotRow): Bot => ({ ...readSettings(settings), ...row });

export async function findBotId(database: Database, workspaceId: string, slug: string): Promise<string | undefined> {
  const { rows } = await database.query<{ id: string }>({
    name: "find_bot_id",
    text: "SELECT bot_id AS id FROM conversation.bots WHERE workspace_id = $1 AND slug = $2 AND deleted_at IS NULL",
    values: [workspaceId, slug],
  });
  return rows[0]?.id;
}

export async function findBot(database: Database, workspaceId: string, slug: string): Promise<Bot | undefined> {
  const { rows } = await database.query<BotRow>(
    `SELECT ${BOT_COLUMNS} FROM conversation.bots WHERE workspace_id = $1 AND slug = $2 AND deleted_at IS NULL`,
    [workspaceId, slug],
  );
  return rows[0] && toBot(rows[0]);
}

export async function listBots(database: Database, workspaceId: string): Promise<Bot[]> {
  const { rows } = await database.query<BotRow>(
    `SELECT ${BOT_COLUMNS} FROM conversation.bots WHERE workspace_id = $1 AND deleted_at IS NULL ORDER BY slug`,
    [workspaceId],
  );
  return rows.map(toBot);
}

/**
 * Stores a bot, with the moderation patterns and the logo of the bot `copyOf` if it is given. Returns `full` if the workspace has `limit` bots,
 * otherwise `exists` if it has, or had, a bot with this slug.
 */
export async function insertBot(
  database: Database,
  { id, workspaceId, slug, display, ...settings }: Omit<Bot, "createdAt">,
  { limit, copyOf }: { limit: number; copyOf?: string },
): Promise<Bot | "exists" | "full"> {
  return workspaceTransaction(database, { table: "conversation.bots", workspaceId }, async (connection) => {
    const counted = await connection.query<{ bots: number }>(
      "SELECT count(*) AS bots FROM conversation.bots WHERE workspace_id = $1 AND deleted_at IS NULL",
      [workspaceId],
    );
    if ((counted.rows[0]?.bots ?? 0) >= limit) return "full";
    const { rows } = await connection.query<BotRow>(
      `INSERT INTO conversation.bots (workspace_id, bot_id, slug, settings, display) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (workspace_id, slug) DO NOTHING RETURNING ${BOT_COLUMNS}`,
      [workspaceId, id, slug, settings, display],
    );
    const [stored] = rows;
    if (stored === undefined) return "exists";
    if (copyOf !== undefined) {
      await connection.query(COPY_PATTERNS, [workspaceId, copyOf, id]);
      await connection.query(COPY_ANSWERS, [workspaceId, copyOf, id]);
      await connection.query(COPY_LOGO, [workspaceId, copyOf, id, display.logoUrl]);
    }
    return toBot(stored);
  });
}

// Patterns are tried in the order of their ids.
const COPY_PATTERNS = `
  INSERT INTO conversation.moderation_patterns (workspace_id, bot_id, pattern, reason, fallback, applies_to)
  SELECT $1, $3, pattern, reason, fallback, applies_to FROM conversation.moderation_patterns
  WHERE workspace_id = $1 AND bot_id = $2 ORDER BY pattern_id`;

const COPY_ANSWERS = `
  INSERT INTO conversation.answers (workspace_id, bot_id, questions, answer)
  SELECT $1, $3, questions, answer FROM conversation.answers
  WHERE workspace_id = $1 AND bot_id = $2 ORDER BY answer_id`;

// Only the logo in use, so that it stays when the original bot is deleted.
const COPY_LOGO = `
  INSERT INTO conversation.bot_logos (workspace_id, bot_id, hash, content_type, content)
  SELECT $1, $3, hash, content_type, content FROM conversation.bot_logos
  WHERE workspace_id = $1 AND bot_id = $2 AND strpos($4, hash) > 0`;

/** What goes with a bot. The documents are deleted in the background: see eraseDocumentsOfDeletedBots. */
const TABLES = [
  "api_keys",
  "moderation_patterns",
  "answers",
  "tools",
  "evaluation_cases",
  "evaluation_runs",
  "bot_logos",
] as const;

/**
 * Deletes a bot with its content. Its row stays without content, because its conversations and its usage refer to it by its slug. Returns false if the
 * workspace has no such bot.
 */
export async function deleteBot(database: Database, workspaceId: string, slug: string): Promise<boolean> {
  return transaction(database, async (connection) => {
    const { rows } = await connection.query<{ id: string }>(
      `UPDATE conversation.bots SET deleted_at = now(), settings = '{}', display = '{}'
       WHERE workspace_id = $1 AND slug = $2 AND deleted_at IS NULL RETURNING bot_id AS id`,
      [workspaceId, slug],
    );
    const [bot] = rows;
    if (bot === undefined) return false;
    for (const table of TABLES)
      await connection.query(`DELETE FROM conversation.${table} WHERE workspace_id = $1 AND bot_id = $2`, [
        workspaceId,
        bot.id,
      ]);
    return true;
  });
}

/** Changes the fields that the patch contains. Returns undefined if the workspace has no such bot. */
export async function updateBot(
  database: Database,
  workspaceId: string,
  slug: string,
  { display, ...settings }: BotPatch,
): Promise<Bot | undefined> {
  const { rows } = await database.query<BotRow>(
    `UPDATE conversation.bots SET settings = settings || $3::jsonb, display = display || $4::jsonb
     WHERE workspace_id = $1 AND slug = $2 AND deleted_at IS NULL RETURNING ${BOT_COLUMNS}`,
    [workspaceId, slug, settings, display],
  );
  return rows[0] && toBot(rows[0]);
}
