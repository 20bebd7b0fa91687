import type { Database } from "@parley/service-kit";
import type { Found, Passage, PromptTerm } from "../turns/index.ts";

/** More than the budget of a prompt ever holds. */
const MAX_PASSAGES = 12;
/** So many chunks are looked at closely; words that would bring more are so common that they only order what others find. */
const MAX_CANDIDATES = 800;
/** Of those, so many are looked at for words that stand together. */
const MAX_RANKED = 200;
/** Words are weighed as if the bot had so many chunks at least: in two or three, every word that is there seems common. */
const MIN_CHUNKS = 10;
/** What it is worth, beside the words themselves, that two of them stand together. */
const TOGETHER = 0.12;
/** What a word is worth in a chunk's text, in its code, in the headings above, and in the nearest heading. */
const WEIGHTS = "{0.4, 0.15, 0.3, 0.8}";

const PASSAGE = `c.chunk_id AS id, s.name AS source, c.heading, c.content AS text`;

/** A word of a message, and how much it counts: 1, or less if it only asks (`want`, `happens`, `cost`). */
export type AskedWord = { word: string; worth: number };

export type BotKnowledge = {
  workspaceId: string;
  botId: string;
  /** How many chunks the bot has. */
  chunks: number;
  /** The languages of its sources. */
  languages: readonly string[];
  /** Whether any of its chunks can be found by meaning. */
  isEmbedded: boolean;
};

/** A word of a message in one of the forms that the bot's languages bring it to. */
export type KnownTerm = {
  word: string;
  /** How many of the bot's chunks hold it. */
  chunks: number;
};

// What is asked (`asked`): the message's words in every form that the bot's languages bring them to; small words have none. A word that a
// source has in several spellings has the same count in each of its rows, so it is taken once a source.
//
// How telling that is (`term`): the fewer of the bot's chunks hold a word, the more. From the rarest on, as many words are searched for as stand in a
// bounded number of chunks, and the rarest always.
//
// A chunk's rank is the sum over the words it holds, each by how telling it is, where how often a word stands there counts for less and less; words
// together count more, a chunk that holds more of what was asked counts more, and a longer one must hold a little more. The chunk beside a good
// one in the same section profits: a section is cut wherever it grows too long. The bot's own word keeps the index to its chunks.
const SEARCH = `
  WITH asked AS MATERIALIZED (
    SELECT given.place, given.word, given.worth, form.lexeme, coalesce((
      SELECT sum(chunks) FROM (
        SELECT DISTINCT k.source_id, k.chunks FROM conversation.knowledge_words k
        WHERE k.workspace_id = $1 AND k.bot_id = $2 AND k.lexeme = form.lexeme
      ) source
    ), 0)::integer AS chunks
    FROM unnest($3::text[], $4::float8[]) WITH ORDINALITY AS given (word, worth, place), LATERAL (
      SELECT DISTINCT lexeme COLLATE "C" AS lexeme
      FROM unnest($5::text[]) AS language,
           unnest(tsvector_to_array(to_tsvector(CAST('pg_catalog.' || language AS regconfig), given.word))) AS lexeme
    ) form
  ), term AS MATERIALIZED (
    SELECT place, word, lexeme, query, weight, sum(chunks) OVER rarest AS brings, row_number() OVER rarest AS nth
    FROM (
      SELECT DISTINCT ON (lexeme) place, word, lexeme, chunks,
             ('''' || replace(replace(lexeme, E'\\\\', E'\\\\\\\\'), '''', '''''') || '''') AS query,
             ln(1 + (greatest($6::float8, chunks) - chunks + 0.5) / (chunks + 0.5)) * worth AS weight
      FROM asked
      ORDER BY lexeme, place
    ) form
    WINDOW rarest AS (ORDER BY chunks, lexeme)
  ), query AS MATERIALIZED (
    SELECT string_agg(query, ' | ') FILTER (WHERE brings <= ${MAX_CANDIDATES} OR nth = 1)::tsquery AS searched,
           array_agg(query::tsquery ORDER BY place, lexeme) AS terms,
           array_agg(weight ORDER BY place, lexeme) AS weights,
           sum(weight) AS total
    FROM term
  ), pair AS MATERIALIZED (
    SELECT array_agg((before || ' <-> ' || query || ' | ' || before || ' <2> ' || query)::tsquery) AS terms,
           array_agg(${TOGETHER} * (before_weight + weight)) AS weights
    FROM (
      SELECT query, weight, lag(query) OVER message AS before, lag(weight) OVER message AS before_weight
      FROM term
      WINDOW message AS (ORDER BY place, lexeme)
    ) neighbours
    WHERE before IS NOT NULL
  ), candidate AS (
    SELECT c.chunk_id, c.source_id, c.heading, c.position, whole.held,
           own.rank, power(own.covered / query.total, 0.7) / (1 + ln(1 + length(c.content) / 1000.0)) AS factor
    FROM query
    JOIN conversation.knowledge_chunks c
      ON coalesce(c.terms, c.search) @@ (('''bot:' || $2::uuid || '''')::tsquery && query.searched)
      AND c.workspace_id = $1 AND c.bot_id = $2
    -- Unpacked once, and not again for each word.
    CROSS JOIN LATERAL (SELECT coalesce(c.terms, c.search) || ''::tsvector AS held OFFSET 0) whole
    CROSS JOIN LATERAL (
      SELECT sum(weight * rank) AS rank, sum(weight) FILTER (WHERE rank > 0) AS covered
      FROM (
        SELECT weight, ts_rank('${WEIGHTS}', whole.held, term) AS rank
        FROM unnest(query.terms, query.weights) AS single (term, weight)
        OFFSET 0
      ) each
    ) own
    ORDER BY own.rank * power(own.covered / query.total, 0.7) / (1 + ln(1 + length(c.content) / 1000.0)) DESC, c.chunk_id
    LIMIT ${MAX_RANKED}
  ), ranked AS (
    SELECT chunk_id, source_id, heading, position, factor * (rank + coalesce((
      SELECT sum(weight) FROM unnest(pair.terms, pair.weights) AS together (term, weight) WHERE held @@ term
    ), 0)) AS rank
    FROM candidate, pair
  ), best AS (
    SELECT chunk_id, rank + 0.5 * greatest(lag(rank) OVER section, lead(rank) OVER section, 0) AS rank
    FROM ranked
    WINDOW section AS (PARTITION BY source_id, heading ORDER BY position)
    ORDER BY rank DESC, chunk_id
    LIMIT ${MAX_PASSAGES}
  )
  SELECT coalesce((SELECT json_agg(json_build_object('word', word, 'chunks', chunks) ORDER BY place) FROM asked), '[]') AS asked,
         coalesce((
           SELECT json_agg(json_build_object('word', word, 'weight', weight) ORDER BY place)
           FROM (SELECT word, max(weight) AS weight, min(place) AS place FROM term GROUP BY word) once
         ), '[]') AS terms,
         coalesce((
           SELECT json_agg(json_build_object('id', c.chunk_id, 'source', s.name, 'heading', c.heading, 'text', c.content) ORDER BY best.rank DESC, c.chunk_id)
           FROM best
           JOIN conversation.knowledge_chunks c ON c.workspace_id = $1 AND c.chunk_id = best.chunk_id
           JOIN conversation.knowledge_sources s ON s.workspace_id = c.workspace_id AND s.source_id = c.source_id
         ), '[]') AS passages`;

/** What a bot's knowledge has to say to a message's words: the passages best first, and what is known of the words themselves. */
export async function findPassages(
  database: Database,
  bot: BotKnowledge,
  words: readonly AskedWord[],
): Promise<Found & { asked: KnownTerm[] }> {
  const { rows } = await database.query<{ asked: KnownTerm[]; terms: PromptTerm[]; passages: Passage[] }>({
    name: "search_knowledge",
    text: SEARCH,
    values: [
      bot.workspaceId,
      bot.botId,
      words.map(({ word }) => word),
      words.map(({ worth }) => worth),
      bot.languages,
      Math.max(bot.chunks, MIN_CHUNKS),
    ],
  });
  const [found] = rows;
  if (found === undefined) throw new Error("a select of aggregates returns its row");
  return found;
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
