import { queryRows } from "@parley/test-support";

/** Maximum number of turns that one transaction stores, unless a single group of turns is larger (see storeTurns). */
const MAX_BATCH_TURNS = 250_000;

export type StoreTurnsOptions = {
  workspaceId: string;
  /** Stores all turns in this session; undefined: in sessions of `turnsPerSession` turns. */
  sessionId?: string;
  /** Number of turns; each has two messages. */
  turns: number;
  /** Number of workspaces that the turns are spread over. The first is `workspaceId`. */
  workspaces?: number;
  turnsPerSession?: number;
};

const monthOf = (time: string) => `date_trunc('month', ${time} AT TIME ZONE 'UTC')::date`;

// Inserts the rows of finished turns, spread over the last 30 days. As in the service, a session's message ids start at a random number. "n" is a turn's number among all turns, "turn" its number in its workspace.
//
// Parameters:
// - $1: the first workspace; $4: the number of workspaces
// - $2 and $3: the numbers of the batch's first and last turn; $7: the number of turns of all batches
// - $5: the turns per session; $6: the only session, or NULL
// - $8: the bot's id, also used as the turns' edge id
const INSERT_BATCH = `
  WITH numbered AS MATERIALIZED (
    SELECT n, turn, CASE WHEN n % $4 = 0 THEN $1 ELSE $1 || '-' || (n % $4) END AS workspace_id, session_id, gen_random_uuid() AS turn_id,
           ${2 ** 50} + 2 * (hashtextextended(session_id::text, 0) & ${2 ** 48 - 1}) + 2 * turn - 1 AS question_id,
           now() - interval '30 days' * (1 - n / $7::float8) AS at,
           CASE turn % 20 WHEN 1 THEN 'up' WHEN 2 THEN 'up' WHEN 3 THEN 'up' WHEN 4 THEN 'down' ELSE '' END AS rating,
           CASE turn % 40 WHEN 5 THEN 'good' WHEN 6 THEN 'bad' ELSE '' END AS review,
           'visitor-' || turn / ($5 * 20) AS visitor_id
    FROM generate_series($2::integer, $3::integer) n
    CROSS JOIN LATERAL (SELECT n / $4 AS turn) numbers
    CROSS JOIN LATERAL (
      SELECT coalesce($6::uuid, md5($1 || 'session' || (n % $4) || '-' || (turn / $5))::uuid) AS session_id
    ) session
  ), workspaces AS (
    INSERT INTO quota.workspaces (workspace_id, name, plan)
    SELECT DISTINCT n.workspace_id, n.workspace_id, w.plan FROM numbered n JOIN quota.workspaces w ON w.workspace_id = $1
    ON CONFLICT DO NOTHING
  ), reservations AS (
    INSERT INTO quota.reservations (workspace_id, turn_id, month, state, reserved_at, settled_at)
    SELECT workspace_id, turn_id, ${monthOf("at")}, 'done', at, at + interval '2 s' FROM numbered
  ), ledger AS (
    INSERT INTO quota.ledger (workspace_id, month, turn_id, counted_at)
    SELECT workspace_id, ${monthOf("at")}, turn_id, at + interval '2 s' FROM numbered
  ), usage AS (
    INSERT INTO quota.usage AS u (workspace_id, month, used)
    SELECT workspace_id, ${monthOf("at")}, count(*) FROM numbered GROUP BY 1, 2
    ON CONFLICT (workspace_id, month) DO UPDATE SET used = u.used + excluded.used
  ), calls AS (
    INSERT INTO llm.calls (
      workspace_id, call_id, turn_id, provider, model, asked, tokens_in, tokens_out, estimated, queue_ms, first_token_ms, latency_ms, attempts,
      failovers, outcome, reason, month, created_at
    )
    SELECT workspace_id, turn_id, turn_id, 'openai', 'm', '', 120, 80, false, 0, 400, 1500, 1, 0, 'complete', '',
           to_char(at AT TIME ZONE 'UTC', 'YYYY-MM'), at
    FROM numbered
  ), sessions AS (
    INSERT INTO conversation.sessions (
      workspace_id, session_id, bot_id, source, visitor_id, visitor_metadata, started_at, last_activity_at, last_message_id,
      message_count, ratings_up, ratings_down, reviews_good, reviews_bad
    )
    SELECT workspace_id, session_id, $8, 'widget', min(visitor_id), '{}', min(at), max(at), max(question_id) + 1, count(*) * 2,
           count(*) FILTER (WHERE rating = 'up'), count(*) FILTER (WHERE rating = 'down'), count(*) FILTER (WHERE review = 'good'),
           count(*) FILTER (WHERE review = 'bad')
    FROM numbered GROUP BY 1, 2
    ON CONFLICT DO NOTHING
  ), turns AS (
    INSERT INTO conversation.turns (
      workspace_id, turn_id, session_id, message_id, bot_id, edge_id, status, month, asked_model, model, tokens_in, tokens_out, first_token_ms,
      latency_ms, opened_at, closed_at, grounded
    )
    SELECT workspace_id, turn_id, session_id, question_id + 1, $8, $8, 'done', ${monthOf("at")}, 'openai:m', 'openai:m', 120, 80, 400,
           1500, at, at + interval '2 s', turn % 3 > 0
    FROM numbered
  )
  INSERT INTO conversation.messages (
    workspace_id, session_id, message_id, turn_id, role, content, model, tokens_in, tokens_out, latency_ms, status, rating, review, created_at,
    closed_at
  )
  SELECT workspace_id, session_id, question_id, turn_id, 'user', 'How do I return an order that came last week, number ' || n || '?', '', 0, 0, 0,
         'done', '', '', at, NULL
  FROM numbered
  UNION ALL
  SELECT workspace_id, session_id, question_id + 1, turn_id, 'assistant', repeat('You can send it back within 30 days. ', 8), 'openai:m', 120, 80,
         1500, 'done', rating, review, at, at + interval '2 s'
  FROM numbered`;

/** Splits `turns` turns into batches of whole groups. The last group may be smaller. `to` is exclusive. */
export function splitIntoBatches(turns: number, turnsPerGroup: number): { from: number; to: number }[] {
  const batchTurns = Math.max(1, Math.floor(MAX_BATCH_TURNS / turnsPerGroup)) * turnsPerGroup;
  return Array.from({ length: Math.ceil(turns / batchTurns) }, (_, index) => ({
    from: index * batchTurns,
    to: Math.min(turns, (index + 1) * batchTurns),
  }));
}

/** Inserts finished turns with SQL. After each batch, calls `progress` with the number of turns stored so far. */
export async function storeTurns(
  url: string,
  options: StoreTurnsOptions,
  progress?: (turns: number) => void,
): Promise<void> {
  const { workspaceId, sessionId = null, turns, workspaces = 1, turnsPerSession = 10 } = options;
  const [bot] = await queryRows<{ bot_id: string }>(
    url,
    "SELECT bot_id FROM conversation.bots WHERE workspace_id = $1 LIMIT 1",
    [workspaceId],
  );
  // A batch must not split a session. With `sessionId`, all turns are one group. Otherwise, a group has one whole session per workspace.
  const turnsPerGroup = sessionId === null ? workspaces * turnsPerSession : turns;
  for (const { from, to } of splitIntoBatches(turns, turnsPerGroup)) {
    await queryRows(url, INSERT_BATCH, [
      workspaceId,
      from,
      to - 1,
      workspaces,
      turnsPerSession,
      sessionId,
      turns,
      bot?.bot_id ?? null,
    ]);
    progress?.(to);
  }
  await queryRows(
    url,
    "ANALYZE conversation.sessions, conversation.messages, conversation.turns, quota.reservations, quota.ledger",
  );
}

/** Vacuums the database and writes a checkpoint. In production, autovacuum and timed checkpoints do this. */
export async function vacuumDatabase(url: string): Promise<void> {
  await queryRows(url, "VACUUM (ANALYZE)");
  await queryRows(url, "CHECKPOINT");
}
