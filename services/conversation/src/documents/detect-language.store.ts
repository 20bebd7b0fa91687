import type { Database } from "@parley/service-kit";
import { type LanguageName, TOLD_BY_STOP_WORDS, tellLanguage } from "./language.ts";

// PostgreSQL brings a small word to nothing at all.
const COUNT_STOP_WORDS = `
  SELECT language, count(*) FILTER (WHERE ts_lexize(CAST('pg_catalog.' || language || '_stem' AS regdictionary), word) = '{}')::integer AS hits
  FROM unnest($1::text[]) AS language, unnest($2::text[]) AS word
  GROUP BY language`;

/** The language of a text that begins with these words, told by PostgreSQL's own lists of small words. */
export async function detectLanguage(database: Database, words: readonly string[]): Promise<LanguageName> {
  const { rows } = await database.query<{ language: LanguageName; hits: number }>(COUNT_STOP_WORDS, [
    TOLD_BY_STOP_WORDS,
    words,
  ]);
  const hits = new Map(rows.map((row) => [row.language, row.hits]));
  return tellLanguage(words, new Map(TOLD_BY_STOP_WORDS.map((language) => [language, hits.get(language) ?? 0])));
}
