/** Turns further back than this are never looked at, so that a conversation full of failed turns costs no more than any other. */
const MAX_STEPS = 50;

type Terms = {
  workspace: string;
  session: string;
  /** The id of the question that the history leads up to. */
  question: string;
  /** Only turns closed before this time. */
  before: string;
  characters: string;
};

/**
 * A subquery with one row and one column `exchanges`: a JSON array of [question, answer], oldest first, of the newest finished turns
 * that together stay within a number of characters; null when there is none. The terms are SQL expressions.
 *
 * It walks back turn by turn, which are two neighbouring rows, as both ids are taken while the session is locked. Asked for the newest
 * rows all at once, the planner may sort a whole conversation that it takes for a short one.
 */
export function historySql({ workspace, session, question, before, characters }: Terms): string {
  return `
    WITH RECURSIVE back (question_id, question, answer, is_finished, characters, steps) AS (
      SELECT ${question}::bigint, '', '', false, 0::bigint, 0
      UNION ALL
      SELECT turn.question_id, turn.question, turn.answer, turn.is_finished,
             back.characters + CASE WHEN turn.is_finished THEN length(turn.question) + length(turn.answer) ELSE 0 END,
             back.steps + 1
      FROM back CROSS JOIN LATERAL (
        SELECT min(message_id) AS question_id,
               max(content) FILTER (WHERE role = 'user') AS question,
               max(content) FILTER (WHERE role = 'assistant') AS answer,
               bool_or(role = 'assistant' AND status = 'done' AND content <> '' AND closed_at < ${before}) AS is_finished
        FROM (
          SELECT message_id, role, status, content, closed_at
          FROM conversation.messages
          WHERE workspace_id = ${workspace} AND session_id = ${session} AND message_id < back.question_id
          ORDER BY message_id DESC
          LIMIT 2
        ) pair
      ) turn
      WHERE turn.question_id IS NOT NULL AND back.characters <= ${characters} AND back.steps < ${MAX_STEPS}
    )
    SELECT json_agg(json_build_array(question, answer) ORDER BY question_id) AS exchanges
    FROM back
    WHERE is_finished AND back.characters <= ${characters}`;
}
