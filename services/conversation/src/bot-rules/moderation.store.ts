import { isDeepStrictEqual } from "node:util";
import type { Pattern } from "@parley/bot-rules/moderation";
import { type Database, type Queryable, workspaceTransaction } from "@parley/service-kit";
import type { BotRef } from "./tools.store.ts";

/** The texts that a pattern is matched against: the visitor's message, the reply, or both. */
export type AppliesTo = "message" | "reply" | "both";

export type ModerationPattern = Pattern & { appliesTo: AppliesTo };

export type StoredPattern = ModerationPattern & { id: number };

const PATTERN_COLUMNS = 'pattern_id AS id, pattern, reason, fallback, applies_to AS "appliesTo"';

/** Stores a pattern. Returns undefined, and stores nothing, if the bot's patterns are no longer `expected`. */
export async function insertPattern(
  database: Database,
  { workspaceId, botId }: BotRef,
  { pattern, reason, fallback, appliesTo }: ModerationPattern,
  expected: readonly StoredPattern[],
): Promise<StoredPattern | undefined> {
  return workspaceTransaction(
    database,
    { table: "conversation.moderation_patterns", workspaceId },
    async (connection) => {
      if (!isDeepStrictEqual(await listPatterns(connection, workspaceId, botId), expected)) return undefined;
      const { rows } = await connection.query<StoredPattern>(
        `INSERT INTO conversation.moderation_patterns (workspace_id, bot_id, pattern, reason, fallback, applies_to)
       VALUES ($1, $2, $3, $4, $5, $6)
       RETURNING ${PATTERN_COLUMNS}`,
        [workspaceId, botId, pattern, reason, fallback, appliesTo],
      );
      return rows[0];
    },
  );
}

/** Replaces a pattern. Returns undefined, and changes nothing, if the bot's patterns are no longer `expected`. */
export async function updatePattern(
  database: Database,
  { workspaceId, botId }: BotRef,
  { id, pattern, reason, fallback, appliesTo }: StoredPattern,
  expected: readonly StoredPattern[],
): Promise<StoredPattern | undefined> {
  return workspaceTransaction(
    database,
    { table: "conversation.moderation_patterns", workspaceId },
    async (connection) => {
      if (!isDeepStrictEqual(await listPatterns(connection, workspaceId, botId), expected)) return undefined;
      const { rows } = await connection.query<StoredPattern>(
        `UPDATE conversation.moderation_patterns SET pattern = $4, reason = $5, fallback = $6, applies_to = $7
       WHERE workspace_id = $1 AND bot_id = $2 AND pattern_id = $3
       RETURNING ${PATTERN_COLUMNS}`,
        [workspaceId, botId, id, pattern, reason, fallback, appliesTo],
      );
      return rows[0];
    },
  );
}

/** Lists a bot's patterns in the order in which they are matched. */
export async function listPatterns(database: Queryable, workspaceId: string, botId: string): Promise<StoredPattern[]> {
  const { rows } = await database.query<StoredPattern>(
    `SELECT ${PATTERN_COLUMNS} FROM conversation.moderation_patterns
     WHERE workspace_id = $1 AND bot_id = $2 ORDER BY pattern_id`,
    [workspaceId, botId],
  );
  return rows;
}

/** Deletes a pattern. Returns false if the bot has no pattern with this id. */
export async function deletePattern(
  database: Database,
  workspaceId: string,
  botId: string,
  patternId: bigint,
): Promise<boolean> {
  const { rowCount } = await database.query(
    "DELETE FROM conversation.moderation_patterns WHERE workspace_id = $1 AND bot_id = $2 AND pattern_id = $3",
    [workspaceId, botId, String(patternId)],
  );
  return rowCount === 1;
}
