import type { Database } from "@parley/service-kit";
import type { BotKnowledge } from "./knowledge-search.store.ts";
import { unchangedEnds } from "./spelling.ts";

/** Of one beginning or end; beyond that it is too common to tell anything. */
const MAX_CANDIDATES = 500;

const READ_CANDIDATES = `
  SELECT asked.place::integer - 1 AS place, near.word
  FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS asked (beginning, after, ending, place),
       LATERAL (
         (SELECT word FROM conversation.knowledge_words k
          WHERE k.workspace_id = $1 AND k.bot_id = $2
            AND k.word >= asked.beginning COLLATE "C" AND k.word < asked.after COLLATE "C"
          LIMIT ${MAX_CANDIDATES})
         UNION ALL
         (SELECT word FROM conversation.knowledge_words k
          WHERE k.workspace_id = $1 AND k.bot_id = $2
            AND reverse(k.word) >= asked.ending COLLATE "C" AND reverse(k.word) < asked.ending COLLATE "C" || chr(1114109)
          LIMIT ${MAX_CANDIDATES})
       ) near
  GROUP BY asked.place, near.word`;

/** For each of `words`, the words of the bot's knowledge that begin or end alike. */
export async function readCandidates(
  database: Database,
  bot: BotKnowledge,
  words: readonly string[],
): Promise<string[][]> {
  const ends = words.map(unchangedEnds);
  const { rows } = await database.query<{ place: number; word: string }>({
    name: "read_knowledge_candidates",
    text: READ_CANDIDATES,
    values: [
      bot.workspaceId,
      bot.botId,
      ends.map(({ beginning }) => beginning),
      ends.map(({ beginning }) => `${beginning}\u{10fffd}`),
      ends.map(({ end }) => Array.from(end).reverse().join("")),
    ],
  });
  return words.map((_, place) => rows.filter((row) => row.place === place).map(({ word }) => word));
}
