import type { Database } from "@parley/service-kit";
import type { Passage } from "../domain/prompt.ts";

/** More than the budget of a prompt ever holds. */
const MAX_PASSAGES = 12;
/** A question's words come early; a long message is not searched to its end. */
const MAX_QUERY_CHARACTERS = 1_000;

const PASSAGE = `c.chunk_id AS id, s.name AS source, c.heading, c.content AS text`;

// Any word of the message may match, as people ask and do not search. The bot's own word keeps the index to its chunks.
const SEARCH = `
  WITH words AS (
    SELECT regexp_replace(plainto_tsquery('pg_catalog.english', left($3, ${MAX_QUERY_CHARACTERS}))::text, ' (&|<->|<\\d+>) ', ' | ', 'g')::tsquery AS query
  )
  SELECT ${PASSAGE}
  FROM words
  JOIN conversation.knowledge_chunks c
    ON c.search @@ (('''bot:' || $2::uuid || '''')::tsquery && words.query) AND c.workspace_id = $1 AND c.bot_id = $2
  JOIN conversation.knowledge_sources s ON s.workspace_id = c.workspace_id AND s.source_id = c.source_id
  WHERE numnode(words.query) > 0
  ORDER BY ts_rank_cd(c.search, words.query, 1) DESC, c.chunk_id
  LIMIT ${MAX_PASSAGES}`;

/** The passages of a bot's knowledge that share words with a message, best first. */
export async function searchKnowledge(
  database: Database,
  workspaceId: string,
  botId: string,
  message: string,
): Promise<Passage[]> {
  const { rows } = await database.query<Passage>({
    name: "search_knowledge",
    text: SEARCH,
    values: [workspaceId, botId, message],
  });
  return rows;
}

const READ_PASSAGES = `
  SELECT ${PASSAGE}
  FROM unnest($2::bigint[]) WITH ORDINALITY AS used (chunk_id, place)
  JOIN conversation.knowledge_chunks c ON c.workspace_id = $1 AND c.chunk_id = used.chunk_id
  JOIN conversation.knowledge_sources s ON s.workspace_id = c.workspace_id AND s.source_id = c.source_id
  ORDER BY used.place`;

/** The passages of these ids that still exist, in the same order. */
export async function readPassages(
  database: Database,
  workspaceId: string,
  chunkIds: readonly number[],
): Promise<Passage[]> {
  const { rows } = await database.query<Passage>(READ_PASSAGES, [workspaceId, chunkIds]);
  return rows;
}
