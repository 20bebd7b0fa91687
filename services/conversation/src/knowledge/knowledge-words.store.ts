import { avoidSort, type Database, transaction } from "@parley/service-kit";
import type { BotKnowledge } from "./knowledge-search.store.ts";
import { prefixAndSuffixOf } from "./spelling.ts";

/** Limits the distinct words that are read for one prefix or suffix. Each word takes about 10 µs. */
const MAX_CANDIDATES = 500;
/** Limits the compounds that are read for one beginning or ending. */
const MAX_WORDS_AROUND = 50;
/** If a message has more misspelt words than this, fewer candidates are read for each word, so that the total does not grow. */
const MAX_WORDS_WITH_ALL_CANDIDATES = 8;
/** Sorts after all other characters in use. Each word with the prefix `p` sorts from `p` up to `p` + LAST_CHARACTER. */
const LAST_CHARACTER = "\u{10fffd}";

/**
 * Selects the distinct values of `key` (`k.word` or `reverse(k.word)`) that are at least `start` and less than `end`. A word has a row for each
 * source that contains it. Uses a loose index scan, which reads only one row of each word: each step of the recursion skips to the next
 * word.
 */
const selectDistinct = (key: string, start: string, end: string) => {
  const readFirst = (comparison: string) => `
    SELECT ${key} FROM conversation.knowledge_words k
    WHERE k.workspace_id = $1 AND k.bot_id = $2 AND ${key} ${comparison} COLLATE "C" AND ${key} < ${end} COLLATE "C"
    ORDER BY ${key} LIMIT 1`;
  return `
    WITH RECURSIVE found (key) AS (
      (${readFirst(`>= ${start}`)})
      UNION ALL
      SELECT (${readFirst("> found.key")}) FROM found WHERE found.key IS NOT NULL
    )
    SELECT key FROM found WHERE key IS NOT NULL LIMIT $7`;
};

const READ_CANDIDATES = `
  SELECT misspelt.place::integer - 1 AS index, near.word
  FROM unnest($3::text[], $4::text[], $5::text[], $6::text[]) WITH ORDINALITY
         AS misspelt (prefix, prefix_end, reversed_suffix, reversed_suffix_end, place),
       LATERAL (
         (${selectDistinct("k.word", "misspelt.prefix", "misspelt.prefix_end")})
         UNION
         SELECT reverse(key) FROM (${selectDistinct("reverse(k.word)", "misspelt.reversed_suffix", "misspelt.reversed_suffix_end")}) reversed
       ) near (word)`;

const READ_KNOWN_WORDS = `
  SELECT part AS word FROM unnest($3::text[]) AS part
  WHERE EXISTS (SELECT FROM conversation.knowledge_words k WHERE k.workspace_id = $1 AND k.bot_id = $2 AND k.word = part COLLATE "C")`;

/** Returns, for each of `words`, the words of the bot's knowledge with the same prefix or suffix. */
export async function readCorrectionCandidates(
  database: Database,
  bot: BotKnowledge,
  words: readonly string[],
): Promise<string[][]> {
  const limit = Math.floor(
    (MAX_CANDIDATES * MAX_WORDS_WITH_ALL_CANDIDATES) / Math.max(MAX_WORDS_WITH_ALL_CANDIDATES, words.length),
  );
  return readNear(database, bot, words.map(prefixAndSuffixOf), limit);
}

/** Returns, for each of `words`, words of the bot's knowledge that begin or end with it, in alphabetical order. */
export async function readWordsAround(
  database: Database,
  bot: BotKnowledge,
  words: readonly string[],
): Promise<string[][]> {
  return readNear(
    database,
    bot,
    words.map((word) => ({ prefix: word, suffix: word })),
    MAX_WORDS_AROUND,
  );
}

/** Returns those of `words` that occur in the bot's knowledge. */
export async function readKnownWords(
  database: Database,
  { workspaceId, botId }: BotKnowledge,
  words: readonly string[],
): Promise<Set<string>> {
  if (words.length === 0) return new Set();
  const { rows } = await database.query<{ word: string }>({
    name: "read_known_words",
    text: READ_KNOWN_WORDS,
    values: [workspaceId, botId, words],
  });
  return new Set(rows.map(({ word }) => word));
}

async function readNear(
  database: Database,
  bot: BotKnowledge,
  parts: readonly { prefix: string; suffix: string }[],
  limit: number,
): Promise<string[][]> {
  const reversedSuffixes = parts.map(({ suffix }) => Array.from(suffix).reverse().join(""));
  const statement = {
    name: "read_knowledge_candidates",
    text: READ_CANDIDATES,
    values: [
      bot.workspaceId,
      bot.botId,
      parts.map(({ prefix }) => prefix),
      parts.map(({ prefix }) => prefix + LAST_CHARACTER),
      reversedSuffixes,
      reversedSuffixes.map((suffix) => suffix + LAST_CHARACTER),
      limit,
    ],
  };
  const { rows } = await transaction(database, async (connection) => {
    // Changes a setting: PostgreSQL then reads each next word from an index instead of sorting all words.
    await avoidSort(connection, { table: "conversation.knowledge_words", workspaceId: bot.workspaceId });
    return connection.query<{ index: number; word: string }>(statement);
  });
  return parts.map((_, index) => rows.filter((row) => row.index === index).map(({ word }) => word));
}
