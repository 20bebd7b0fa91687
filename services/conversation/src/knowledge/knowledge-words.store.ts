import type { Database } from "@parley/service-kit";
import type { BotKnowledge } from "./knowledge-search.store.ts";
import { prefixAndSuffixOf } from "./spelling.ts";

/** Bounds the rows read for one prefix or suffix. A word has a row for each source, so fewer distinct words may be read. */
const MAX_CANDIDATES = 500;

// A range of words with a prefix ends at the prefix and U+10FFFD (1114109), which sorts after all other characters in use.
const READ_CANDIDATES = `
  SELECT misspelt.place::integer - 1 AS index, near.word
  FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS misspelt (prefix, prefix_end, reversed_suffix, place),
       LATERAL (
         (SELECT word FROM conversation.knowledge_words k
          WHERE k.workspace_id = $1 AND k.bot_id = $2
            AND k.word >= misspelt.prefix COLLATE "C" AND k.word < misspelt.prefix_end COLLATE "C"
          LIMIT ${MAX_CANDIDATES})
         UNION ALL
         (SELECT word FROM conversation.knowledge_words k
          WHERE k.workspace_id = $1 AND k.bot_id = $2
            AND reverse(k.word) >= misspelt.reversed_suffix COLLATE "C"
            AND reverse(k.word) < misspelt.reversed_suffix COLLATE "C" || chr(1114109)
          LIMIT ${MAX_CANDIDATES})
       ) near
  GROUP BY misspelt.place, near.word`;

/** Returns, for each of `words`, the words of the bot's knowledge with the same prefix or suffix. */
export async function readCorrectionCandidates(
  database: Database,
  bot: BotKnowledge,
  words: readonly string[],
): Promise<string[][]> {
  const parts = words.map(prefixAndSuffixOf);
  const { rows } = await database.query<{ index: number; word: string }>({
    name: "read_knowledge_candidates",
    text: READ_CANDIDATES,
    values: [
      bot.workspaceId,
      bot.botId,
      parts.map(({ prefix }) => prefix),
      parts.map(({ prefix }) => `${prefix}\u{10fffd}`),
      parts.map(({ suffix }) => Array.from(suffix).reverse().join("")),
    ],
  });
  return words.map((_, index) => rows.filter((row) => row.index === index).map(({ word }) => word));
}
