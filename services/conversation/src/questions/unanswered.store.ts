import type { Database } from "@parley/service-kit";
import { IS_DECLINED, IS_UNANSWERED } from "../turns/index.ts";

/** Limits the replies that a query reads: those without a passage or an answer and those that were rated down, together. */
export const MAX_REPLIES = 1_000;
/** Limits the rated-down replies, so that the other replies are always read too. */
const MAX_RATED = MAX_REPLIES / 2;
const MAX_QUESTION_CHARACTERS = 300;

export type UnansweredFilters = {
  workspaceId: string;
  botId: string;
  days: number;
  /** PostgreSQL's text search configurations of the bot's knowledge, such as "english". */
  languages: readonly string[];
  /** If false, only rated-down replies are read. */
  hasKnowledge: boolean;
  /** Words that do not distinguish questions, such as "please". */
  questionWords: readonly string[];
};

/** A visitor's question whose reply used neither a passage nor a tool, said that the model has no answer, or was rated down. */
export type UnansweredQuestion = {
  sessionId: string;
  /** When the reply was finished, RFC 3339. */
  at: string;
  /** The beginning of the visitor's question. */
  text: string;
  /** The stems of the question's words in alphabetical order, without stop words and `questionWords`. */
  lexemes: string[];
  /** Whether the reply used neither a passage nor a tool. */
  isUngrounded: boolean;
  /** Whether the model said that it has no answer. */
  isDeclined: boolean;
  isRatedDown: boolean;
};

export type UnansweredQuestions = {
  /** The latest first. */
  questions: UnansweredQuestion[];
  /** The number of replies read, including those of other bots and of sessions that are left out. */
  repliesRead: number;
  /** Whether a limit was reached, so that older replies may be missing. */
  isPartial: boolean;
};

// Steps:
// - `rated`: the latest rated-down replies. `unanswered`: the latest replies without a passage or an answer. Each of the two has its own index.
// - `bound`: how many unanswered replies are read at most.
// - `reply`: the union of `rated` and `unanswered`, with each reply once.
// - `question`: the questions of these replies. A reply that called a tool needs no passage, so it is not ungrounded. Playground sessions are
//   left out, because the owner wrote their questions. Each subquery with LIMIT 1 reads one row by its primary key. With plain joins,
//   PostgreSQL underestimated the number of rows, so it read all sessions of the bot, and all messages of each session.
// - `language`: the bot's languages, each with the stems of `questionWords`. A question gets the lexemes of the language that leaves the
//   fewest lexemes. The question is probably in that language, because it contains the language's stop words. Without OFFSET 0,
//   PostgreSQL would parse each question twice.
const READ_UNANSWERED = `
  WITH rated AS MATERIALIZED (
    SELECT session_id, message_id, coalesce(closed_at, created_at) AS at
    FROM conversation.messages
    WHERE workspace_id = $1 AND rating = 'down' AND created_at >= now() - make_interval(days => $3)
    ORDER BY created_at DESC
    LIMIT ${MAX_RATED}
  ), bound AS (
    SELECT CASE WHEN $4 THEN ${MAX_REPLIES} - count(*) ELSE 0 END AS unanswered FROM rated
  ), unanswered AS MATERIALIZED (
    SELECT session_id, message_id, closed_at AS at, NOT grounded AS is_ungrounded, ${IS_DECLINED} AS is_declined
    FROM conversation.turns
    WHERE workspace_id = $1 AND bot_id = $2 AND status = 'done' AND ${IS_UNANSWERED}
      AND closed_at >= now() - make_interval(days => $3)
    ORDER BY closed_at DESC
    LIMIT (SELECT unanswered FROM bound)
  ), reply AS MATERIALIZED (
    SELECT session_id, message_id, max(at) AS at, bool_or(is_ungrounded) AS is_ungrounded, bool_or(is_declined) AS is_declined,
           bool_or(is_rated) AS is_rated
    FROM (
      SELECT session_id, message_id, at, is_ungrounded, is_declined, false AS is_rated FROM unanswered
      UNION ALL
      SELECT session_id, message_id, at, false, false, true FROM rated
    ) every
    GROUP BY session_id, message_id
  ), question AS MATERIALIZED (
    SELECT reply.session_id, reply.at, left(asked.content, ${MAX_QUESTION_CHARACTERS}) AS text,
           CASE WHEN reply.is_ungrounded THEN (
             SELECT tools_called = '[]' FROM conversation.messages
             WHERE workspace_id = $1 AND session_id = reply.session_id AND message_id = reply.message_id
           ) ELSE false END AS is_ungrounded, reply.is_declined, reply.is_rated
    FROM reply
    CROSS JOIN LATERAL (
      SELECT bot_id, source, deleted_at, erased_at FROM conversation.sessions
      WHERE workspace_id = $1 AND session_id = reply.session_id
      LIMIT 1
    ) s
    CROSS JOIN LATERAL (
      SELECT content FROM conversation.messages
      WHERE workspace_id = $1 AND session_id = reply.session_id AND message_id = reply.message_id - 1
      LIMIT 1
    ) asked
    WHERE s.bot_id = $2 AND s.source = 'widget' AND s.deleted_at IS NULL AND s.erased_at IS NULL
  ), language AS MATERIALIZED (
    SELECT config, tsvector_to_array(to_tsvector(config, $6)) AS question_words
    FROM unnest($5::text[]) AS name, CAST('pg_catalog.' || name AS regconfig) AS config
  )
  SELECT (SELECT count(*) FROM reply)::integer AS "repliesRead",
         (SELECT count(*) FROM rated) = ${MAX_RATED} OR ($4 AND (SELECT count(*) FROM unanswered) = (SELECT unanswered FROM bound)) AS "isPartial",
         coalesce((
           SELECT json_agg(json_build_object(
             'sessionId', session_id, 'at', at, 'text', text, 'lexemes', words.lexemes,
             'isUngrounded', is_ungrounded, 'isDeclined', is_declined, 'isRatedDown', is_rated) ORDER BY at DESC)
           FROM question, LATERAL (
             SELECT lexemes
             FROM language, LATERAL (
               SELECT tsvector_to_array(ts_delete(to_tsvector(config, text), question_words)) AS lexemes OFFSET 0
             ) each
             ORDER BY cardinality(lexemes), config::text
             LIMIT 1
           ) words
           WHERE is_ungrounded OR is_declined OR is_rated
         ), '[]') AS questions`;

/** Reads the latest unanswered questions that visitors asked a bot. */
export async function readUnanswered(database: Database, filters: UnansweredFilters): Promise<UnansweredQuestions> {
  const { workspaceId, botId, days, hasKnowledge, languages, questionWords } = filters;
  const values = [workspaceId, botId, days, hasKnowledge, languages, questionWords.join(" ")];
  const { rows } = await database.query<UnansweredQuestions>(READ_UNANSWERED, values);
  const [found] = rows;
  if (found === undefined) throw new Error("the read of unanswered questions returned no row");
  return found;
}
