import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ListSessionsRequest, ListSessionsResponseSchema } from "@parley/rpc/conversation";
import { type Database, invalidArgument, isWorkspaceId, readWithRetry } from "@parley/service-kit";
import {
  formatPosition,
  type OwnerReadPool,
  parsePosition,
  requireSessionFilters,
  type SessionPosition,
} from "../sessions/index.ts";
import { findText, listSessions, type SessionPage, type SessionSummary } from "./list-sessions.store.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
/** The limit of one call that searches for a text. */
const MAX_MESSAGES_READ = 2_000;
/** A session has at least two messages, so the messages of more sessions would exceed MAX_MESSAGES_READ. */
const MAX_CANDIDATES = MAX_MESSAGES_READ / 2;

type Response = MessageInitShape<typeof ListSessionsResponseSchema>;

/** Lists a workspace's sessions, or those with a message that contains a text. */
export async function handleListSessions(
  { database, limiter }: OwnerReadPool,
  request: ListSessionsRequest,
  signal: AbortSignal,
): Promise<Response> {
  const { workspaceId, text } = request;
  requireSessionFilters(request);
  if (request.limit < 0 || request.limit > MAX_LIMIT) throw invalidArgument(`limit must be from 0 to ${MAX_LIMIT}`);
  const limit = request.limit || DEFAULT_LIMIT;
  const after = parsePosition(request.pageToken);
  if (!isWorkspaceId(workspaceId)) return {};
  const read: Read = (statement) => limiter.run(workspaceId, signal, () => readWithRetry(() => statement(database)));
  const findSessions = (count: number) =>
    read((connection) => listSessions(connection, workspaceId, request, { after, limit: count }));
  const page =
    text === ""
      ? await findSessions(limit)
      : await searchText(read, { workspaceId, text, limit, after, candidates: await findSessions(MAX_CANDIDATES) });
  return { sessions: page.sessions, nextPageToken: page.next ? formatPosition(page.next) : "" };
}

type Read = <T>(statement: (database: Database) => Promise<T>) => Promise<T>;

type TextSearch = {
  workspaceId: string;
  text: string;
  limit: number;
  after: SessionPosition | undefined;
  candidates: SessionPage;
};

/** Returns the candidates that contain the text. Stops after MAX_MESSAGES_READ messages, even within a session. */
async function searchText(read: Read, search: TextSearch): Promise<SessionPage> {
  const { workspaceId, text, limit, candidates } = search;
  const ranges = planRanges(search);
  const matches = await read((database) => findText(database, workspaceId, ranges, text));
  const sessions: SessionSummary[] = [];
  for (const [index, match] of matches.entries()) {
    const [session, range] = [candidates.sessions[index], ranges[index]];
    if (session === undefined || range === undefined) break;
    if (match.excerpt !== null) sessions.push({ ...session, excerpt: match.excerpt });
    else if (range.isPartial && match.messagesRead === range.maxMessages)
      return { sessions, next: { ...session.position, messageId: match.lastMessageId ?? range.afterMessageId } };
    if (sessions.length === limit) return { sessions, next: positionAfter(candidates, index) };
  }
  return { sessions, next: positionAfter(candidates, ranges.length - 1) };
}

/**
 * Plans which messages to read, one candidate after the other, up to MAX_MESSAGES_READ in total. The last range may cover only a part of its
 * session. If the previous page ended within a session, the only range is the rest of that session, up to the same limit.
 */
function planRanges({ after, candidates }: TextSearch) {
  let remaining = MAX_MESSAGES_READ;
  return candidates.sessions.flatMap(({ id, storedMessages }) => {
    if (remaining === 0) return [];
    const isContinued = after?.messageId !== undefined && after.sessionId === id;
    const maxMessages = isContinued ? remaining : Math.min(remaining, storedMessages);
    remaining -= maxMessages;
    const isPartial = isContinued || maxMessages < storedMessages;
    return [{ sessionId: id, afterMessageId: isContinued ? (after.messageId ?? 0) : 0, maxMessages, isPartial }];
  });
}

/** Returns the position after a candidate; undefined if the candidate is the last session of the last page. */
function positionAfter({ sessions, next }: SessionPage, index: number): SessionPosition | undefined {
  return index < sessions.length - 1 ? sessions[index]?.position : next;
}
