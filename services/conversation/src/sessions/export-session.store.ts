import { type Database, notFound, readWithRetry } from "@parley/service-kit";
import type { RunStatement } from "./export-pacer.ts";
import {
  EXPORTED_SESSION_FIELDS,
  IS_LISTED,
  MESSAGE_FIELDS,
  OWNER_MESSAGE_FIELDS,
  OWNER_SESSION_FIELDS,
  SESSION_FIELDS,
} from "./session-fields.store.ts";

const sessionSql = (sessionFields: string) => `
  SELECT row_to_json(document)::text AS json,
         (SELECT coalesce(max(m.message_id), 0) FROM conversation.messages m WHERE m.workspace_id = $1 AND m.session_id = $2) AS "lastId"
  FROM (
    SELECT ${sessionFields}
    FROM conversation.sessions s
    JOIN conversation.bots b ON b.workspace_id = s.workspace_id AND b.bot_id = s.bot_id
    WHERE s.workspace_id = $1 AND s.session_id = $2 AND ${IS_LISTED}
  ) document`;

// One query per page instead of a cursor in a transaction: a client that reads slowly must hold neither a connection nor a snapshot. The query
// returns no row if the session was deleted or erased, and one row of nulls if no messages are left.
const pageSql = (messageFields: string) => `
  SELECT page.id, page.json
  FROM conversation.sessions s
  LEFT JOIN LATERAL (
    SELECT document.id::bigint AS id, row_to_json(document)::text AS json
    FROM (
      SELECT ${messageFields}
      FROM conversation.messages m
      WHERE m.workspace_id = $1 AND m.session_id = $2 AND m.message_id > $3 AND m.message_id <= $4
        AND m.turn_id <> ALL (ARRAY(
          SELECT t.turn_id FROM conversation.turns t
          WHERE t.workspace_id = $1 AND t.session_id = $2 AND t.status = 'streaming'
        ))
      ORDER BY m.message_id
      LIMIT $5
    ) document
  ) page ON true
  WHERE s.workspace_id = $1 AND s.session_id = $2 AND ${IS_LISTED}
  ORDER BY page.id`;

const PAGE = { name: "export_page", text: pageSql(MESSAGE_FIELDS) };
const REVIEWED_PAGE = { name: "export_reviewed_page", text: pageSql(OWNER_MESSAGE_FIELDS) };

/** The most turns per page: about 64 KiB of ordinary messages. Up to two pages are in memory. */
const MAX_TURNS = 64;
/** The target size of a page. If messages are large, a page has fewer turns. */
const PAGE_CHARACTERS = 128 * 1024;

/** A message of a transcript as JSON. */
export type ExportedMessage = { id: number; json: string };

export type ExportOptions = {
  /** Runs each statement, for example when the workspace's limiter admits it. By default, runs it immediately. */
  run?: RunStatement;
  /** Leaves out the messages up to and including this one. */
  afterMessageId?: number;
  /** Adds each message's review, and the session's contact messages. */
  withReviews?: boolean;
  /** Adds to the session whether its visitor is verified, and its consent. */
  withVerification?: boolean;
};

/** A session as JSON, and its messages in pages. */
export type Transcript = { session: string; pages: AsyncGenerator<ExportedMessage[], void, void> };

/**
 * Yields a session's transcript, a JSON document, in pieces. Yields nothing if the session is missing, deleted or erased. See openTranscript
 * for errors and limits.
 */
export async function* exportSession(
  database: Database,
  workspaceId: string,
  sessionId: string,
  options: ExportOptions = {},
): AsyncGenerator<string, void, void> {
  const transcript = await openTranscript(database, workspaceId, sessionId, options);
  if (transcript === undefined) return;
  yield `{"session":${transcript.session},"messages":[`;
  let separator = "";
  for await (const page of transcript.pages) {
    yield separator + joinMessageJson(page);
    separator = ",";
  }
  yield "]}";
}

/** Returns the messages as the elements of a JSON array. */
export function joinMessageJson(messages: readonly ExportedMessage[]): string {
  return messages.map(({ json }) => json).join(",");
}

/**
 * Reads a session, and its messages page by page, at most one page ahead of the consumer. Leaves out messages that are added after this call,
 * and turns that are still streaming when their page is read. Returns undefined if the session is missing, deleted or erased. The pages
 * throw not_found if the session is deleted or erased later. Retries a query if PostgreSQL closes the connection.
 */
export async function openTranscript(
  database: Database,
  workspaceId: string,
  sessionId: string,
  {
    run = (statement) => statement(),
    afterMessageId = 0,
    withReviews = false,
    withVerification = false,
  }: ExportOptions = {},
): Promise<Transcript | undefined> {
  const read = <T>(statement: () => Promise<T>) => run(() => readWithRetry(statement));
  const reviewedFields = withVerification ? OWNER_SESSION_FIELDS : EXPORTED_SESSION_FIELDS;
  const sessionText = sessionSql(withReviews ? reviewedFields : SESSION_FIELDS);
  const readSession = () => database.query<{ json: string; lastId: number }>(sessionText, [workspaceId, sessionId]);
  const [session] = (await read(readSession)).rows;
  if (session === undefined) return undefined;

  const readPage = async (afterId: number, turns: number): Promise<ExportedMessage[]> => {
    // A turn has two messages with consecutive ids, so an even number of messages never splits a turn.
    const values = [workspaceId, sessionId, afterId, session.lastId, turns * 2];
    const { rows } = await read(() =>
      database.query<ExportedMessage | { id: null }>({ ...(withReviews ? REVIEWED_PAGE : PAGE), values }),
    );
    if (rows.length === 0) throw notFound("session_not_found", "the session was deleted during the export");
    return rows.filter((row): row is ExportedMessage => row.id !== null);
  };
  return { session: session.json, pages: readPages(readPage, session.lastId, afterMessageId) };
}

async function* readPages(
  readPage: (afterId: number, turns: number) => Promise<ExportedMessage[]>,
  lastId: number,
  afterMessageId: number,
): AsyncGenerator<ExportedMessage[], void, void> {
  let turns = MAX_TURNS;
  let next: Promise<ExportedMessage[]> | undefined = readPage(afterMessageId, turns);
  while (next !== undefined) {
    const page: ExportedMessage[] = await next;
    const last = page.at(-1);
    if (last === undefined) return;
    const characters = page.reduce((sum, { json }) => sum + json.length, 0);
    turns = Math.max(1, Math.min(MAX_TURNS, Math.round(((page.length / 2) * PAGE_CHARACTERS) / characters)));
    // Read one page ahead while the consumer sends this one.
    next = last.id < lastId ? readPage(last.id, turns) : undefined;
    // The next iteration handles a failure. If the consumer stops first, this avoids an unhandled rejection.
    next?.catch(() => undefined);
    yield page;
  }
}
