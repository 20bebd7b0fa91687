import { avoidSort, type Database, transaction } from "@parley/service-kit";
import {
  formatTimeSql,
  IS_LISTED,
  microsecondsSql,
  RATING,
  REVIEW,
  type SessionFilters,
  type SessionPosition,
  toTimestamp,
  visitorSessionsSql,
} from "../sessions/index.ts";

/** The most sessions that one statement reads. Bounds its time if few sessions match the combination of filters. */
export const MAX_SESSIONS_READ = 2_000;

/** In code points. */
const EXCERPT_CHARACTERS = 160;
/** How many characters of an excerpt precede the text that was searched for. */
const EXCERPT_LEAD = 40;

export type ListFilters = SessionFilters & {
  /** The range of the times by which the list is ordered, in microseconds since 1970. It includes its start, but not its end. */
  sinceMicroseconds?: bigint | undefined;
  untilMicroseconds?: bigint | undefined;
};

export type SessionSummary = {
  id: string;
  botSlug: string;
  source: string;
  visitorId: string;
  visitorVerified: boolean;
  visitorMetadata: string;
  referrer: string;
  userAgent: string;
  startedAt: string;
  lastActivityAt: string;
  /** Without the messages of streaming turns. */
  messageCount: number;
  /** With the messages of streaming turns. */
  storedMessages: number;
  rating: string;
  review: string;
  /** The beginning of the visitor's first message, or the surroundings of the text that was searched for. */
  excerpt: string;
  position: SessionPosition;
};

type Row = Omit<SessionSummary, "position" | "messageCount"> & {
  microseconds: number;
  streamingTurns: number;
  matches: boolean;
  /** The session's number in the order in which the statement read it, from 1. */
  number: number;
};

export type SessionPage = {
  sessions: SessionSummary[];
  /** Undefined after the last page. */
  next: SessionPosition | undefined;
};

/**
 * Lists a workspace's sessions, most recently active first, after a position. A visitor's sessions are ordered by the visitor's last activity
 * (see visitorSessionsSql). Reads at most 2,000 sessions: it may return fewer than `limit`
 * and still return a next position.
 */
export async function listSessions(
  database: Database,
  workspaceId: string,
  filters: ListFilters,
  { after, limit }: { after: SessionPosition | undefined; limit: number },
): Promise<SessionPage> {
  const { text, values } = listSql(workspaceId, filters, after, limit + 1);
  const { rows } = await transaction(database, async (connection) => {
    await avoidSort(connection, { table: "conversation.sessions", workspaceId });
    return connection.query<Row>(text, values);
  });
  const found = rows.filter((row) => row.matches);
  const sessions = found.slice(0, limit).map(toSession);
  const last = rows.at(-1);
  if (found.length > limit) return { sessions, next: sessions.at(-1)?.position };
  return { sessions, next: last?.number === MAX_SESSIONS_READ ? toSession(last).position : undefined };
}

function toSession({ microseconds, streamingTurns, matches: _, number: __, ...row }: Row): SessionSummary {
  return {
    ...row,
    messageCount: Math.max(0, row.storedMessages - 2 * streamingTurns),
    position: { microseconds, sessionId: row.id },
  };
}

/**
 * The inner query scans the index of the first filter, in the order of last activity. For each session that the scan finds, the column
 * `matches` has the result of the other filters. If the scan ends at its limit of MAX_SESSIONS_READ, the statement also returns the last
 * session that it read, even if that session does not match. The next page starts after it.
 */
function listSql(workspaceId: string, filters: ListFilters, after: SessionPosition | undefined, limit: number) {
  const values: unknown[] = [workspaceId];
  /** Adds a value and returns its placeholder. */
  const addValue = (each: unknown) => `$${values.push(each)}`;
  const { visitorId, sinceMicroseconds, untilMicroseconds } = filters;
  const visitor = visitorId === "" ? undefined : addValue(visitorId);
  const conditions = filterSql(filters, addValue);
  const indexed = visitor === undefined ? (conditions.shift() ?? "true") : "true";
  const time = (microseconds: bigint) => `${addValue(toTimestamp(microseconds))}::timestamptz`;
  const since = sinceMicroseconds === undefined ? undefined : time(sinceMicroseconds);
  const until = untilMicroseconds === undefined ? undefined : time(untilMicroseconds);
  const position = after && `(${time(BigInt(after.microseconds))}, ${addValue(after.sessionId)}::uuid)`;
  // If the position is within a session's messages, the page starts with that session again.
  const comparison = after?.messageId === undefined ? "<" : "<=";
  const where = (at: string, sessionId: string) =>
    [
      IS_LISTED,
      indexed,
      ...(since === undefined ? [] : [`${at} >= ${since}`]),
      ...(until === undefined ? [] : [`${at} < ${until}`]),
      ...(position === undefined ? [] : [`(${at}, ${sessionId}) ${comparison} ${position}`]),
    ].join(" AND ");
  const sessions =
    visitor === undefined
      ? `SELECT s.*, s.last_activity_at AS at FROM conversation.sessions s
         WHERE s.workspace_id = $1 AND ${where("s.last_activity_at", "s.session_id")}`
      : visitorSessionsSql({
          workspace: "$1",
          visitor,
          where,
          page: { order: "DESC", limit: String(MAX_SESSIONS_READ) },
        });
  const matches = conditions.length === 0 ? "true" : conditions.join(" AND ");
  const text = `
    SELECT s.session_id AS id,
           (SELECT slug FROM conversation.bots b WHERE b.workspace_id = s.workspace_id AND b.bot_id = s.bot_id) AS "botSlug",
           s.source, coalesce(s.visitor_id, '') AS "visitorId", s.visitor_verified AS "visitorVerified",
           coalesce(s.visitor_metadata, '{}')::text AS "visitorMetadata", coalesce(s.referrer, '') AS referrer,
           coalesce(s.user_agent, '') AS "userAgent",
           ${formatTimeSql("s.started_at")} AS "startedAt", ${formatTimeSql("s.last_activity_at")} AS "lastActivityAt",
           s.message_count AS "storedMessages",
           (SELECT count(*) FROM conversation.turns t
            WHERE t.workspace_id = s.workspace_id AND t.session_id = s.session_id AND t.status = 'streaming') AS "streamingTurns",
           ${RATING} AS rating, ${REVIEW} AS review,
           coalesce((
             SELECT left(m.content, ${EXCERPT_CHARACTERS}) FROM conversation.messages m
             WHERE m.workspace_id = s.workspace_id AND m.session_id = s.session_id ORDER BY m.message_id LIMIT 1
           ), '') AS excerpt,
           ${microsecondsSql("s.at")} AS microseconds, s.number, ${matches} AS matches
    FROM (
      SELECT s.*, row_number() OVER (ORDER BY s.at DESC, s.session_id DESC) AS number
      FROM (${sessions}) s
      ORDER BY s.at DESC, s.session_id DESC
      LIMIT ${MAX_SESSIONS_READ}
    ) s
    WHERE (${matches}) OR s.number = ${MAX_SESSIONS_READ}
    ORDER BY s.at DESC, s.session_id DESC
    LIMIT ${addValue(limit)}`;
  return { text, values };
}

/** Returns conditions for all filters but the visitor's id. The filter that usually matches the fewest sessions comes first. */
function filterSql(filters: SessionFilters, addValue: (each: unknown) => string): string[] {
  const { visitorId, rating, review, botSlug, source } = filters;
  const conditions: string[] = [];
  if (rating === "down") conditions.push("s.ratings_down > 0");
  if (rating === "up") conditions.push("s.ratings_up > 0 AND s.ratings_down = 0");
  if (review === "bad") conditions.push("s.reviews_bad > 0");
  if (review === "good") conditions.push("s.reviews_good > 0 AND s.reviews_bad = 0");
  if (botSlug !== "")
    conditions.push(
      `s.bot_id = (SELECT bot_id FROM conversation.bots WHERE workspace_id = $1 AND slug = ${addValue(botSlug)})`,
    );
  if (source === "playground") conditions.push("s.source = 'playground'");
  // Most sessions are the widget's, so this filter has no index. It must not be the first condition, which chooses the index of the scan.
  if (source === "widget")
    conditions.push(...(conditions.length === 0 && visitorId === "" ? ["true"] : []), "s.source = 'widget'");
  return conditions;
}

export type MessageRange = { sessionId: string; afterMessageId: number; maxMessages: number };

export type TextMatch = {
  /** The surroundings of the text's first occurrence; null if the range does not contain the text. */
  excerpt: string | null;
  messagesRead: number;
  lastMessageId: number | null;
};

const FIND_TEXT = `
  SELECT found.*
  FROM unnest($2::uuid[], $3::bigint[], $4::integer[]) WITH ORDINALITY AS range (session_id, after_id, max_messages, number)
  CROSS JOIN LATERAL (
    SELECT (array_agg(substr(m.content, greatest(1, m.at - ${EXCERPT_LEAD}), ${EXCERPT_CHARACTERS}) ORDER BY m.message_id) FILTER (WHERE m.at > 0))[1] AS excerpt,
           count(*)::integer AS "messagesRead", max(m.message_id) AS "lastMessageId"
    FROM (
      SELECT content, message_id, strpos(lower(content), lower($5)) AS at FROM conversation.messages
      WHERE workspace_id = $1 AND session_id = range.session_id AND message_id > range.after_id
      ORDER BY message_id
      LIMIT range.max_messages
    ) m
  ) found
  ORDER BY range.number`;

/** Searches the messages of each range for a text, ignoring case. */
export async function findText(
  database: Database,
  workspaceId: string,
  ranges: readonly MessageRange[],
  text: string,
): Promise<TextMatch[]> {
  const { rows } = await database.query<TextMatch>({
    name: "find_text",
    text: FIND_TEXT,
    values: [
      workspaceId,
      ranges.map((range) => range.sessionId),
      ranges.map((range) => range.afterMessageId),
      ranges.map((range) => range.maxMessages),
      text,
    ],
  });
  return rows;
}
