import { ExportFormat, type ExportSessionsRequest } from "@parley/rpc/conversation";
import { type Database, invalidArgument, isWorkspaceId, NIL_UUID, readWithRetry } from "@parley/service-kit";
import {
  joinMessageJson,
  type OwnerReadPool,
  openTranscript,
  type RunStatement,
  requireSessionFilters,
  toTimestamp,
} from "../sessions/index.ts";
import { type ExportCursor, formatCursor, parseCursor } from "./export-cursor.ts";
import { csv, type ExportFormatter, ndjson } from "./export-format.ts";
import { type ExportedSession, type ExportPage, readExportEnd, readSessions } from "./export-sessions.store.ts";

/** Leaves room for field headers within 128 KiB, because protobuf-es doubles its buffer until the response fits. */
const MAX_PIECE_BYTES = 128 * 1024 - 64;
/** The target size of a page, to which the number of sessions per page adapts. Up to two pages are in memory. */
const PAGE_CHARACTERS = 256 * 1024;
/** The target while turns run. A smaller page delays a turn less, but costs more per character. */
const BUSY_PAGE_CHARACTERS = 32 * 1024;
const FIRST_PAGE_SESSIONS = 16;
const MAX_PAGE_SESSIONS = 1_000;
/**
 * After this time, a call ends at the end of its current page or large session, and the client continues with another call. The limit leaves
 * time for that page or session before the call's deadline, EXPORT_TIMEOUT_MS.
 */
const MAX_CALL_MS = 4 * 60_000;

const FORMATTERS: Readonly<Record<number, ExportFormatter>> = {
  [ExportFormat.NDJSON]: ndjson,
  [ExportFormat.CSV]: csv,
};

type Piece = { content?: Uint8Array; nextCursor?: string };

/**
 * Streams the transcripts of a workspace's sessions. All exports of a workspace together read one page at a time, so that they leave connections
 * for the exports of other workspaces. While turns run, an export pauses after each page that contains a matching session.
 */
export async function* handleExportSessions(
  deps: OwnerReadPool,
  request: ExportSessionsRequest,
  signal: AbortSignal,
  maxCallMs = MAX_CALL_MS,
): AsyncGenerator<Piece> {
  const startedAt = performance.now();
  const formatter = FORMATTERS[request.format];
  if (formatter === undefined) throw invalidArgument("format must be set");
  requireSessionFilters(request);
  const start = parseStart(request);
  if (request.cursor === "" && formatter.header !== "") yield { content: Buffer.from(formatter.header) };
  if (!isWorkspaceId(request.workspaceId)) return;
  const walk = new SessionWalk(deps, request, start, signal);
  await walk.readEnd();
  for await (const page of walk.pages()) {
    for await (const { texts, lastSession } of formatPage(walk, formatter, page)) {
      if (signal.aborted) return;
      yield* toPieces(texts);
      if (lastSession !== undefined && performance.now() - startedAt >= maxCallMs)
        return yield { nextCursor: walk.cursorAfter(lastSession) };
    }
  }
}

type PagePosition = Pick<ExportPage, "startedAt" | "sessionId" | "isInclusive">;

/** The position at which an export starts, and the end of its time range. */
type Start = PagePosition & {
  until: string | undefined;
  /** The last exported message of the session `sessionId`, if its later messages are not exported yet. */
  messageId: number | undefined;
};

/** Returns the start of the request's time range, or the position of its cursor. */
function parseStart(request: ExportSessionsRequest): Start {
  const { sinceMicroseconds: since = 0n, untilMicroseconds: until } = request;
  const cursor = parseCursor(request.cursor);
  const times = { startedAt: toTimestamp(since), until: until === undefined ? undefined : toTimestamp(until) };
  if (cursor === undefined) return { ...times, sessionId: NIL_UUID, messageId: undefined, isInclusive: true };
  const { microseconds, sessionId, messageId } = cursor.position;
  return {
    until: toTimestamp(BigInt(cursor.untilMicroseconds)),
    startedAt: toTimestamp(BigInt(microseconds)),
    sessionId,
    messageId,
    isInclusive: messageId !== undefined,
  };
}

/** Reads a workspace's sessions in the order of their start. */
class SessionWalk {
  readonly #deps: OwnerReadPool;
  readonly #request: ExportSessionsRequest;
  readonly #start: Start;
  readonly #run: RunStatement;
  readonly #runPaced: RunStatement;
  #untilMicroseconds = 0;
  /** The number of sessions of the next page. */
  #limit = FIRST_PAGE_SESSIONS;

  constructor(deps: OwnerReadPool, request: ExportSessionsRequest, start: Start, signal: AbortSignal) {
    this.#deps = deps;
    this.#request = request;
    this.#start = start;
    this.#run = (statement) => deps.limiter.run(request.workspaceId, signal, statement);
    this.#runPaced = deps.pacer.pace(this.#run, signal);
  }

  /** Reads the end of the export's time range. Must be called before pages(). */
  async readEnd(): Promise<void> {
    this.#untilMicroseconds = await this.#read(this.#runPaced, (database) =>
      readExportEnd(database, this.#request.workspaceId, this.#start.until),
    );
  }

  /** Yields pages. Reads at most one page ahead of the consumer. */
  async *pages(): AsyncGenerator<ExportedSession[], void, void> {
    let next = this.#readPage(this.#runPaced, this.#start);
    for (;;) {
      const page: ExportedSession[] = await next;
      const last = page.at(-1);
      if (last === undefined) return;
      this.#limit = adaptLimit(page, this.#deps.pacer.hasRecentTurn ? BUSY_PAGE_CHARACTERS : PAGE_CHARACTERS);
      const after = { startedAt: toTimestamp(BigInt(last.startedAt)), sessionId: last.id, isInclusive: false };
      // After a page without a matching session, reads on without a pause, because the client has received nothing.
      const run = page.some(({ matches }) => matches) ? this.#runPaced : this.#run;
      next = this.#readPage(run, after);
      // The next iteration handles a failure. If the consumer stops first, this avoids an unhandled rejection.
      next.catch(() => undefined);
      yield page;
    }
  }

  /**
   * Reads a session's messages after `afterMessageId`, in pages of messages. Used if readSessions returned a matching session without its
   * messages, or if the previous call exported the session in part.
   */
  openTranscript(sessionId: string, afterMessageId: number) {
    return openTranscript(this.#deps.database, this.#request.workspaceId, sessionId, {
      run: this.#runPaced,
      afterMessageId,
      withReviews: true,
    });
  }

  /** Returns the id of the session's last exported message if the previous call exported the session in part; otherwise undefined. */
  lastExportedIdOf(sessionId: string): number | undefined {
    return sessionId === this.#start.sessionId ? this.#start.messageId : undefined;
  }

  cursorAfter({ id, startedAt }: ExportedSession, messageId?: number): string {
    const position = { microseconds: startedAt, sessionId: id, messageId };
    return formatCursor({ untilMicroseconds: this.#untilMicroseconds, position } satisfies ExportCursor);
  }

  #readPage(run: RunStatement, after: PagePosition): Promise<ExportedSession[]> {
    const { workspaceId } = this.#request;
    const until = toTimestamp(BigInt(Math.max(0, this.#untilMicroseconds)));
    const { startedAt, sessionId, isInclusive } = after;
    const page = { workspaceId, filters: this.#request, startedAt, sessionId, isInclusive, until, limit: this.#limit };
    return this.#read(run, (database) => readSessions(database, page));
  }

  #read<T>(run: RunStatement, statement: (database: Database) => Promise<T>): Promise<T> {
    return run(() => readWithRetry(() => statement(this.#deps.database)));
  }
}

function adaptLimit(page: readonly ExportedSession[], targetCharacters: number): number {
  const characters = page.reduce((sum, { messages }) => sum + messages.length, 0);
  const limit = Math.round((page.length * targetCharacters) / Math.max(1, characters));
  return Math.max(1, Math.min(limit, page.length * 4, MAX_PAGE_SESSIONS));
}

/** A part of a page. `lastSession` is the session after which an export can continue; undefined within a session. */
type PagePart = { texts: string[]; lastSession?: ExportedSession | undefined };

/** Yields a page in parts: consecutive small sessions together, each large or partly exported session in several parts. */
async function* formatPage(
  walk: SessionWalk,
  formatter: ExportFormatter,
  page: readonly ExportedSession[],
): AsyncGenerator<PagePart> {
  let texts: string[] = [];
  let lastSession: ExportedSession | undefined;
  for (const session of page) {
    const lastExportedId = walk.lastExportedIdOf(session.id);
    if (session.matches && (session.session === null || lastExportedId !== undefined)) {
      yield { texts, lastSession };
      texts = [];
      yield* formatSessionInParts(walk, formatter, session, lastExportedId);
    } else if (session.session !== null) {
      const { start, messages, end } = formatter.startSession(session.session);
      texts.push(
        start,
        messages(session.messages, (id) => walk.cursorAfter(session, id)),
        end(walk.cursorAfter(session)),
      );
    }
    lastSession = session;
  }
  yield { texts, lastSession };
}

async function* formatSessionInParts(
  walk: SessionWalk,
  formatter: ExportFormatter,
  session: ExportedSession,
  lastExportedId: number | undefined,
): AsyncGenerator<PagePart> {
  const transcript = await walk.openTranscript(session.id, lastExportedId ?? 0);
  // The session was deleted since its page was read.
  if (transcript === undefined) return;
  const { start, messages, end } = formatter.startSession(transcript.session);
  yield { texts: [start] };
  for await (const page of transcript.pages)
    yield { texts: [messages(joinMessageJson(page), (id) => walk.cursorAfter(session, id))] };
  yield { texts: [end(walk.cursorAfter(session))], lastSession: session };
}

/** Encodes the texts into one buffer. Joining them to a string first would copy them once more. */
function* toPieces(texts: readonly string[]): Generator<Piece> {
  const bytes = Buffer.allocUnsafe(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
  texts.reduce((start, text) => start + bytes.write(text, start), 0);
  for (let start = 0; start < bytes.length; start += MAX_PIECE_BYTES)
    yield { content: bytes.subarray(start, start + MAX_PIECE_BYTES) };
}
