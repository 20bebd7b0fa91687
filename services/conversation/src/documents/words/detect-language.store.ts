import { type Database, onShardOfWorkspace } from "@parley/service-kit";
import { chooseLanguage, type LanguageName, STOP_WORD_LANGUAGES } from "./language.ts";

// ts_lexize returns an empty array for a stop word.
const COUNT_STOP_WORDS = onShardOfWorkspace(
  "conversation.knowledge_sources",
  `(
    SELECT json_object_agg(language, hits) FROM (
      SELECT language, count(*) FILTER (WHERE ts_lexize(CAST('pg_catalog.' || language || '_stem' AS regdictionary), word) = '{}') AS hits
      FROM unnest($2::text[]) AS language, unnest($3::text[]) AS word
      GROUP BY language
    ) counted
  ) AS hits`,
);

/** Detects a text's language from its first words: by their script, or else by PostgreSQL's stop word lists. */
export async function detectLanguage(
  database: Database,
  workspaceId: string,
  words: readonly string[],
): Promise<LanguageName> {
  const values = [workspaceId, STOP_WORD_LANGUAGES, words];
  const { rows } = await database.query<{ hits: Record<string, number> | null }>(COUNT_STOP_WORDS, values);
  const hits = rows[0]?.hits ?? {};
  return chooseLanguage(words, new Map(STOP_WORD_LANGUAGES.map((language) => [language, hits[language] ?? 0])));
}
