import type { Database } from "@parley/service-kit";
import type { Passage, PromptTerm } from "../turns/index.ts";

/** A prompt has room for eight chunks of the largest size, or for more chunks that are smaller. */
const MAX_PASSAGES = 12;
/**
 * Limits how many chunks are ranked. Beginning with the rarest, each term of the query selects the chunks that contain it, until the next term
 * would exceed the limit. The other terms only add to the ranks of the selected chunks. The rarest term always selects its chunks.
 */
const MAX_CANDIDATES = 800;
/** Limits how many of the best candidates are checked for neighbouring words. */
const MAX_PROXIMITY_CANDIDATES = 200;
/** Multiplies the weight of another spelling if the chunks contain the word as it is in the query. */
const KNOWN_SPELLING_FACTOR = 0.1;
/** Term weights assume at least this many chunks. Otherwise every term of a bot with two chunks would count as frequent. */
const MIN_CHUNKS = 10;
/** If two query words are neighbours in a chunk, this share of the sum of their weights is added to the chunk's rank. */
const PROXIMITY_FACTOR = 0.12;
/** ts_rank's weights of the labels D (text), C (code), B (outer headings) and A (innermost heading). */
const WEIGHTS = "{0.4, 0.15, 0.3, 0.8}";

/** Ignored at the ends of messages and headings when they are compared. */
const FINAL_CHARACTERS = " ?!.:…？！。：؟";
const ASKED = `' > ' || btrim(lower($8::text), '${FINAL_CHARACTERS}')`;
/** Whether a chunk's innermost heading is the message. */
const IS_ASKED = `right(' > ' || rtrim(lower(c.heading), '${FINAL_CHARACTERS}'), length(${ASKED})) = ${ASKED}`;

/** SQL of the fields of a Passage. */
export const PASSAGE = `c.chunk_id AS id, s.source_id AS "sourceId", s.name AS source, s.url, c.heading, c.content AS text`;

export type QueryWord = {
  word: string;
  /** Multiplies the word's weight (see findWordBoost). */
  boost: number;
  /** The word of the query of which this is another spelling. If that word occurs in the bot's chunks, this one has little weight. */
  spellingOf?: string | undefined;
};

export type BotKnowledge = {
  workspaceId: string;
  botId: string;
  /** An IANA name. */
  timeZone: string;
  chunks: number;
  /** PostgreSQL's text search configurations for the bot's sources. */
  languages: readonly string[];
  /** Whether any of the chunks has an embedding. */
  hasEmbeddings: boolean;
};

/** Document frequency of a query word's lexeme. A word has one entry per lexeme: the bot's languages may stem it differently. */
export type TermFrequency = {
  word: string;
  /** Number of the bot's chunks that contain the lexeme. */
  chunks: number;
};

/** `wordRank`: the higher, the better. Ranks of different searches cannot be compared. */
export type RankedPassage = Passage & { wordRank: number };

/** The result of a word search, best passage first. */
export type WordMatches = { passages: readonly RankedPassage[]; terms: readonly PromptTerm[] };

// Steps:
// - `frequency`: stems each query word in each of the bot's languages and reads how many chunks contain the lexeme. Stop words have no
//   lexeme. Adds each source's count once, because knowledge_words repeats the count for each spelling of a lexeme. Comparing bot_id as text
//   makes PostgreSQL use the index knowledge_words_frequency. Otherwise it may use an index that reads all words of the bot.
// - `term`: weights each lexeme by its inverse document frequency. `chunks_so_far` sums the frequencies from the rarest lexeme on. Lexemes that
//   no chunk contains come last, because they select none.
// - `query`: builds the query for the lexemes that select chunks (see MAX_CANDIDATES). Only lexemes that chunks contain are ranked.
// - `pair`: builds the queries for neighbouring query words: consecutive words of the query, in the same order and at most two positions apart
//   in the chunk.
// - `candidate`: ranks the selected chunks by ts_rank of each lexeme times its weight. The rank grows with the share of the query that a
//   chunk contains and falls with the chunk's length. The lexeme bot:<id> restricts the index scan to the bot's chunks. Concatenating '' to
//   workspace_id rules out the index knowledge_chunks_source, which would read all chunks of the workspace.
// - `ranked`: adds the weight of neighbouring words.
// - `best`: adds half of a neighbour's rank, because long sections are split into several chunks. The neighbour is the previous or the next
//   row of `ranked` with the same source and heading, whichever has the higher rank. It need not be adjacent in the document. Chunks whose
//   heading is the message come before all others.
const SEARCH = `
  WITH frequency AS MATERIALIZED (
    SELECT input.place, input.word, input.boost, input.spelling_of, form.lexeme, coalesce((
      SELECT sum(chunks) FROM (
        SELECT DISTINCT k.source_id, k.chunks FROM conversation.knowledge_words k
        WHERE k.workspace_id = $1 AND k.bot_id::text = $2::uuid::text AND k.lexeme = form.lexeme
      ) source
    ), 0)::integer AS chunks
    FROM unnest($3::text[], $4::float8[], $7::text[]) WITH ORDINALITY AS input (word, boost, spelling_of, place), LATERAL (
      SELECT DISTINCT lexeme COLLATE "C" AS lexeme
      FROM unnest($5::text[]) AS language,
           unnest(tsvector_to_array(to_tsvector(CAST('pg_catalog.' || language AS regconfig), input.word))) AS lexeme
    ) form
  ), term AS MATERIALIZED (
    SELECT place, word, lexeme, chunks, query, weight, sum(chunks) OVER rarest AS chunks_so_far, row_number() OVER rarest AS nth
    FROM (
      SELECT DISTINCT ON (lexeme) place, word, lexeme, chunks,
             ('''' || replace(replace(lexeme, E'\\\\', E'\\\\\\\\'), '''', '''''') || '''') AS query,
             ln(1 + (greatest($6::float8, chunks) - chunks + 0.5) / (chunks + 0.5)) * boost
               * CASE WHEN EXISTS (SELECT FROM frequency o WHERE o.word = frequency.spelling_of AND o.chunks > 0)
                   THEN ${KNOWN_SPELLING_FACTOR} ELSE 1 END AS weight
      FROM frequency
      ORDER BY lexeme, place
    ) form
    WINDOW rarest AS (ORDER BY chunks = 0, chunks, lexeme)
  ), query AS MATERIALIZED (
    SELECT string_agg(query, ' | ') FILTER (WHERE chunks_so_far <= ${MAX_CANDIDATES} OR nth = 1)::tsquery AS searched,
           array_agg(query::tsquery ORDER BY place, lexeme) FILTER (WHERE chunks > 0) AS terms,
           array_agg(weight ORDER BY place, lexeme) FILTER (WHERE chunks > 0) AS weights,
           sum(weight) AS total
    FROM term
  ), pair AS MATERIALIZED (
    SELECT array_agg((before || ' <-> ' || query || ' | ' || before || ' <2> ' || query)::tsquery) AS terms,
           array_agg(${PROXIMITY_FACTOR} * (before_weight + weight)) AS weights
    FROM (
      SELECT query, weight, chunks, lag(query) OVER message AS before, lag(weight) OVER message AS before_weight,
             lag(chunks) OVER message AS chunks_before
      FROM term
      WINDOW message AS (ORDER BY place, lexeme)
    ) neighbours
    WHERE chunks > 0 AND chunks_before > 0
  ), candidate AS (
    SELECT c.chunk_id, c.source_id, c.heading, c.position, detoasted.lexemes, ${IS_ASKED} AS is_asked,
           own.rank, power(own.covered / query.total, 0.7) / (1 + ln(1 + length(c.content) / 1000.0)) AS factor
    FROM query
    JOIN conversation.knowledge_chunks c
      ON c.terms @@ (('''bot:' || $2::uuid || '''')::tsquery && query.searched)
      AND c.workspace_id || '' = $1 AND c.bot_id = $2
    -- Concatenating and OFFSET 0 detoast the vector once, not again for each lexeme.
    CROSS JOIN LATERAL (SELECT c.terms || ''::tsvector AS lexemes OFFSET 0) detoasted
    CROSS JOIN LATERAL (
      SELECT sum(weight * rank) AS rank, sum(weight) FILTER (WHERE rank > 0) AS covered
      FROM (
        SELECT weight, ts_rank('${WEIGHTS}', detoasted.lexemes, term) AS rank
        FROM unnest(query.terms, query.weights) AS single (term, weight)
        OFFSET 0
      ) each
    ) own
    ORDER BY is_asked DESC, own.rank * power(own.covered / query.total, 0.7) / (1 + ln(1 + length(c.content) / 1000.0)) DESC, c.chunk_id
    LIMIT ${MAX_PROXIMITY_CANDIDATES}
  ), ranked AS (
    SELECT chunk_id, source_id, heading, position, is_asked, factor * (rank + coalesce((
      SELECT sum(weight) FROM unnest(pair.terms, pair.weights) AS together (term, weight) WHERE lexemes @@ term
    ), 0)) AS rank
    FROM candidate, pair
  ), best AS (
    SELECT chunk_id, is_asked, rank + 0.5 * greatest(lag(rank) OVER section, lead(rank) OVER section, 0) AS rank
    FROM ranked
    WINDOW section AS (PARTITION BY source_id, heading ORDER BY position)
    ORDER BY is_asked DESC, rank DESC, chunk_id
    LIMIT ${MAX_PASSAGES}
  )
  SELECT coalesce((SELECT json_agg(json_build_object('word', word, 'chunks', chunks) ORDER BY place) FROM frequency), '[]') AS frequencies,
         coalesce((
           SELECT json_agg(json_build_object('word', word, 'weight', weight) ORDER BY place)
           FROM (SELECT word, max(weight) AS weight, min(place) AS place FROM term GROUP BY word) once
         ), '[]') AS terms,
         coalesce((
           SELECT json_agg(json_build_object('id', c.chunk_id, 'sourceId', s.source_id, 'source', s.name, 'url', s.url, 'heading', c.heading, 'text', c.content, 'wordRank', best.rank) ORDER BY best.is_asked DESC, best.rank DESC, c.chunk_id)
           FROM best
           CROSS JOIN LATERAL (
             SELECT workspace_id, source_id, chunk_id, heading, content
             FROM conversation.knowledge_chunks WHERE workspace_id = $1 AND chunk_id = best.chunk_id OFFSET 0
           ) c
           JOIN conversation.knowledge_sources s ON s.workspace_id = c.workspace_id AND s.source_id = c.source_id
         ), '[]') AS passages`;

/** Returns the best passages for a message and the words of its query, best first, with the words' weights and frequencies. */
export async function findPassages(
  database: Database,
  bot: BotKnowledge,
  message: string,
  words: readonly QueryWord[],
): Promise<WordMatches & { frequencies: TermFrequency[] }> {
  const { rows } = await database.query<WordMatches & { frequencies: TermFrequency[] }>({
    name: "search_knowledge",
    text: SEARCH,
    values: [
      bot.workspaceId,
      bot.botId,
      words.map(({ word }) => word),
      words.map(({ boost }) => boost),
      bot.languages,
      Math.max(bot.chunks, MIN_CHUNKS),
      words.map(({ spellingOf = null }) => spellingOf),
      message.normalize("NFC"),
    ],
  });
  const [found] = rows;
  if (found === undefined) throw new Error("the knowledge search returned no row");
  return found;
}

const READ_PASSAGES = `
  SELECT ${PASSAGE}
  FROM unnest($2::bigint[]) WITH ORDINALITY AS used (chunk_id, place)
  JOIN conversation.knowledge_chunks c ON c.workspace_id = $1 AND c.chunk_id = used.chunk_id
  JOIN conversation.knowledge_sources s ON s.workspace_id = c.workspace_id AND s.source_id = c.source_id
  ORDER BY used.place`;

/** Returns the passages with these chunk ids that still exist, in the same order. */
export async function readPassages(
  database: Database,
  workspaceId: string,
  chunkIds: readonly number[],
): Promise<Passage[]> {
  const { rows } = await database.query<Passage>(READ_PASSAGES, [workspaceId, chunkIds]);
  return rows;
}
