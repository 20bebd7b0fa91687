import type { Database } from "@parley/service-kit";
import type { ModerationPattern, ToolDefinition } from "../bot-rules/index.ts";
import { type BotSettings, readSettings, type StoredSettings } from "./bot-settings.ts";

/** The parts of a bot that each turn needs. */
export type StoredBotConfig = BotSettings & {
  /** The fallbacks and the texts of the consent in other languages, by language. */
  fallbacks: Readonly<Record<string, string>>;
  consentTexts: Readonly<Record<string, string>>;
  /** `hasEmbeddings`: at least one chunk has an embedding. */
  knowledge: { chunks: number; languages: string[]; hasEmbeddings: boolean };
  /** In the order in which they are matched. */
  patterns: ModerationPattern[];
  /** Sorted by name. */
  tools: ToolDefinition[];
  /** The questions of the owner's answers, oldest first. The answers themselves are read when they are given. */
  answers: { id: number; questions: string[] }[];
};

type BotConfigRow = Omit<StoredBotConfig, keyof BotSettings> & { settings: StoredSettings };

/** Returns SQL for one of the bot's texts by language. */
const textsSql = (name: string) => `
         coalesce((
           SELECT json_object_agg(t.key, t.value->>'${name}') FROM jsonb_each(b.display->'texts') t WHERE t.value->>'${name}' <> ''
         ), '{}')`;

const READ_BOT_CONFIG = `
  SELECT b.settings, ${textsSql("fallback")} AS fallbacks, ${textsSql("consentText")} AS "consentTexts",
         (
           SELECT json_build_object('chunks', coalesce(sum(s.chunks), 0), 'languages', coalesce(json_agg(DISTINCT s.language), '[]'),
                                    'hasEmbeddings', coalesce(bool_or(s.embedded > 0), false))
           FROM conversation.knowledge_sources s WHERE s.workspace_id = b.workspace_id AND s.bot_id = b.bot_id
         ) AS knowledge,
         coalesce((
           SELECT json_agg(json_build_object(
                   'pattern', p.pattern, 'reason', p.reason, 'fallback', p.fallback, 'appliesTo', p.applies_to) ORDER BY p.pattern_id)
           FROM conversation.moderation_patterns p
           WHERE p.workspace_id = b.workspace_id AND p.bot_id = b.bot_id
         ), '[]') AS patterns,
         coalesce((
           SELECT json_agg(t.definition ORDER BY t.name)
           FROM conversation.tools t
           WHERE t.workspace_id = b.workspace_id AND t.bot_id = b.bot_id
         ), '[]') AS tools,
         coalesce((
           SELECT json_agg(json_build_object('id', a.answer_id, 'questions', a.questions) ORDER BY a.answer_id)
           FROM conversation.answers a
           WHERE a.workspace_id = b.workspace_id AND a.bot_id = b.bot_id
         ), '[]') AS answers
  FROM conversation.bots b
  WHERE b.workspace_id = $1 AND b.bot_id = $2 AND b.deleted_at IS NULL`;

/** Returns undefined if the workspace has no such bot. */
export async function readBotConfig(
  database: Database,
  workspaceId: string,
  botId: string,
): Promise<StoredBotConfig | undefined> {
  const { rows } = await database.query<BotConfigRow>({
    name: "read_bot_config",
    text: READ_BOT_CONFIG,
    values: [workspaceId, botId],
  });
  if (rows[0] === undefined) return undefined;
  const { settings, ...config } = rows[0];
  return { ...readSettings(settings), ...config };
}
