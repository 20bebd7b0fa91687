import { type Database, defineStatement, type Queryable } from "@parley/service-kit";
import { botSlugSql, recordEventSql } from "../events/index.ts";
import { countRefusalSql, roomSql } from "../refusal-counts/index.ts";
import { formatTimeSql, IS_LISTED, mayUseSessionSql, type SessionRequest } from "../sessions/index.ts";
import { CAN_HAND_OFF } from "./handoff.store.ts";
import { handoffSql, type StoredHandoff } from "./handoff-state.store.ts";

/** The most contact messages of a session. */
const MAX_CONTACT_MESSAGES = 3;
/** The most contact messages of a workspace in a UTC day, and of as many more as are stored at the same moment. */
export const MAX_DAILY_CONTACT_MESSAGES = 1_000;
const DAILY_COUNT = { workspace: ":workspaceId", outcome: "'contact'", max: String(MAX_DAILY_CONTACT_MESSAGES) };

export type NewContactMessage = SessionRequest & { requestId: string; email: string; message: string };

const OF_VISITOR = `${CAN_HAND_OFF} AND s.bot_id = :botId AND ${mayUseSessionSql(":visitorId", ":visitorVerified::boolean")}`;
const IS_FULL = `coalesce(jsonb_array_length(s.contact_messages), 0) >= ${MAX_CONTACT_MESSAGES}`;
const HAS_MESSAGE =
  "coalesce(s.contact_messages @> jsonb_build_array(jsonb_build_object('id', :requestId::text)), false)";

// The locked row decides whether the message is stored, so that a repeated request is stored once, and no session has too many.
const leaveStatement = defineStatement<NewContactMessage>(
  "leave_contact_message",
  `
  WITH ${roomSql(DAILY_COUNT)}, changed AS (
    UPDATE conversation.sessions s
    SET contact_messages = coalesce(s.contact_messages, '[]') || jsonb_build_object(
          'id', :requestId::text, 'email', :email::text, 'message', :message::text, 'created_at', ${formatTimeSql("clock_timestamp()")}
        ),
        contact_at = coalesce(s.contact_at, clock_timestamp()), last_activity_at = greatest(s.last_activity_at, clock_timestamp())
    WHERE ${OF_VISITOR} AND NOT ${IS_FULL} AND NOT ${HAS_MESSAGE} AND (SELECT keeps_texts FROM room)
    RETURNING s.workspace_id, s.session_id, s.bot_id, ${handoffSql()} AS handoff
  ), ${countRefusalSql(DAILY_COUNT, "changed")}, event AS (${recordEventSql({
    source: "changed c",
    workspace: ":workspaceId",
    type: "'handoff.contact'",
    session: "c.session_id",
    data: `jsonb_build_object('bot_slug', ${botSlugSql(":workspaceId", "c.bot_id")}, 'session_id', c.session_id, 'contact_id', :requestId::text)`,
  })})
  SELECT c.handoff FROM changed c WHERE c.workspace_id = :workspaceId`,
);

const findStatement = defineStatement<NewContactMessage>(
  "find_contact_message",
  `SELECT ${handoffSql()} AS handoff, ${HAS_MESSAGE} AS "isStored", ${IS_FULL} AS "isFull" FROM conversation.sessions s WHERE ${OF_VISITOR}`,
);

export type LeaveResult = {
  /** `limit_reached`: by the session; `daily_limit_reached`: by the workspace. */
  result: "stored" | "repeated" | "limit_reached" | "daily_limit_reached";
  handoff: StoredHandoff;
};

/**
 * Stores a contact message of the visitor, and returns the state of the session. Returns undefined if the visitor may not use the session, or if it
 * does not exist, was deleted or erased, or is of the playground.
 */
export async function leaveContactMessage(
  database: Database,
  message: NewContactMessage,
): Promise<LeaveResult | undefined> {
  const stored = await database.query<{ handoff: StoredHandoff }>(leaveStatement(message));
  if (stored.rows[0] !== undefined) return { result: "stored", ...stored.rows[0] };
  const { rows } = await database.query<{ handoff: StoredHandoff; isStored: boolean; isFull: boolean }>(
    findStatement(message),
  );
  if (rows[0] === undefined) return undefined;
  const { handoff, isStored, isFull } = rows[0];
  return { result: isStored ? "repeated" : isFull ? "limit_reached" : "daily_limit_reached", handoff };
}

/** `contactId` is the last contact message that the team has read. */
export type FinishedContact = { workspaceId: string; sessionId: string; contactId: string };

const finishStatement = defineStatement<FinishedContact>(
  "finish_contact_messages",
  `UPDATE conversation.sessions s SET contact_at = NULL
   WHERE ${CAN_HAND_OFF} AND s.contact_at IS NOT NULL AND s.contact_messages -> -1 ->> 'id' = :contactId::text`,
);

/**
 * Records that the team is done with a session's contact messages, which stay. Changes nothing if a later one has arrived. Returns false if nothing
 * has changed.
 */
export async function finishContactMessages(
  database: Queryable,
  { workspaceId, sessionId, contactId }: FinishedContact,
): Promise<boolean> {
  const { rowCount } = await database.query(finishStatement({ workspaceId, sessionId, contactId }));
  return rowCount === 1;
}

const READ = `
  SELECT c ->> 'email' AS email, c ->> 'message' AS message
  FROM conversation.sessions s CROSS JOIN LATERAL jsonb_array_elements(s.contact_messages) c
  WHERE s.workspace_id = $1 AND s.session_id = $2 AND ${IS_LISTED} AND c ->> 'id' = $3`;

/** Reads the contact message of an event, which does not contain it. Returns undefined if it was erased or deleted. */
export async function readContactMessage(
  database: Database,
  { workspaceId, sessionId, contactId }: { workspaceId: string; sessionId: string; contactId: string },
): Promise<{ email: string; message: string } | undefined> {
  const { rows } = await database.query<{ email: string; message: string }>({
    name: "read_contact_message",
    text: READ,
    values: [workspaceId, sessionId, contactId],
  });
  return rows[0];
}
