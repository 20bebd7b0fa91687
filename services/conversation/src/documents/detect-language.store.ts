import type { Database } from "@parley/service-kit";
import { chooseLanguage, type LanguageName, STOP_WORD_LANGUAGES } from "./language.ts";

// ts_lexize returns an empty array for a stop word.
const COUNT_STOP_WORDS = `
  SELECT language, count(*) FILTER (WHERE ts_lexize(CAST('pg_catalog.' || language || '_stem' AS regdictionary), word) = '{}')::integer AS hits
  FROM unnest($1::text[]) AS language, unnest($2::text[]) AS word
  GROUP BY language`;

/** Detects a text's language from its first words: by their script, or else by PostgreSQL's stop word lists. */
export async function detectLanguage(database: Database, words: readonly string[]): Promise<LanguageName> {
  const { rows } = await database.query<{ language: LanguageName; hits: number }>(COUNT_STOP_WORDS, [
    STOP_WORD_LANGUAGES,
    words,
  ]);
  const hits = new Map(rows.map((row) => [row.language, row.hits]));
  return chooseLanguage(words, new Map(STOP_WORD_LANGUAGES.map((language) => [language, hits.get(language) ?? 0])));
}
