import { type Connection, type Database, rollBack } from "@parley/service-kit";

const time = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')`;

const SESSION = `
  SELECT row_to_json(document)::text AS json
  FROM (
    SELECT s.session_id AS id, b.slug AS bot_slug, s.source, s.visitor_id, s.visitor_metadata, s.referrer, s.user_agent,
           ${time("s.started_at")} AS started_at, ${time("s.last_activity_at")} AS last_activity_at
    FROM conversation.sessions s
    JOIN conversation.bots b ON b.workspace_id = s.workspace_id AND b.bot_id = s.bot_id
    WHERE s.workspace_id = $1 AND s.session_id = $2 AND s.deleted_at IS NULL AND s.erased_at IS NULL
  ) document`;

// An SQL cursor rather than a protocol-level one, so that each FETCH is a statement with its own timeout.
const MESSAGES = `
  DECLARE transcript NO SCROLL CURSOR FOR
  SELECT row_to_json(document)::text AS json
  FROM (
    SELECT m.message_id::text AS id, m.role, m.content, m.rating, m.model, m.tokens_in, m.tokens_out, m.latency_ms, m.status,
           m.error_message, m.rag_chunks_used, m.tools_called, ${time("m.created_at")} AS created_at
    FROM conversation.messages m
    WHERE m.workspace_id = $1 AND m.session_id = $2
      AND m.turn_id <> ALL (ARRAY(
        SELECT t.turn_id FROM conversation.turns t
        WHERE t.workspace_id = $1 AND t.session_id = $2 AND t.status = 'streaming'
      ))
    ORDER BY m.message_id
  ) document`;

/** Rows per FETCH, about 64 KiB of ordinary messages. Up to two batches are in memory. Large messages make the batches smaller. */
const MAX_ROWS = 128;
const PIECE_CHARACTERS = 128 * 1024;

/**
 * Yields a session's transcript, a JSON document, in pieces. Reads one snapshot through a cursor, at most one piece ahead of the consumer.
 * Leaves out turns that are still streaming. Yields nothing if there is no such session or if it was deleted or erased.
 */
export async function* exportSession(
  database: Database,
  workspaceId: string,
  sessionId: string,
): AsyncGenerator<string, void, void> {
  const connection = await database.connect();
  let failure: unknown;
  try {
    await connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    yield* documentPieces(connection, [workspaceId, sessionId]);
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    await rollBack(connection, failure);
  }
}

async function* documentPieces(connection: Connection, session: [string, string]): AsyncGenerator<string, void, void> {
  const { rows } = await connection.query<{ json: string }>(SESSION, session);
  if (rows[0] === undefined) return;
  yield `{"session":${rows[0].json},"messages":[`;
  await connection.query(MESSAGES, session);
  let separator = "";
  let count = MAX_ROWS;
  let next: Promise<string[]> | undefined = fetchRows(connection, count);
  while (next !== undefined) {
    const rows: string[] = await next;
    if (rows.length === 0) break;
    const piece = separator + rows.join(",");
    const isMore = rows.length === count;
    separator = ",";
    count = Math.max(1, Math.min(MAX_ROWS, Math.round((rows.length * PIECE_CHARACTERS) / piece.length)));
    // Read one piece ahead while the consumer sends this one.
    next = isMore ? fetchRows(connection, count) : undefined;
    // The next iteration handles a failure. If the consumer stops first, this avoids an unhandled rejection.
    next?.catch(() => undefined);
    yield piece;
  }
  yield "]}";
}

async function fetchRows(connection: Connection, count: number): Promise<string[]> {
  const { rows } = await connection.query<{ json: string }>(`FETCH ${count} FROM transcript`);
  return rows.map(({ json }) => json);
}
