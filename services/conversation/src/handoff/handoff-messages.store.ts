import { type Database, defineStatement, sqlState } from "@parley/service-kit";
import { formatTimeSql, IS_LISTED, mayUseSessionSql, type SessionRequest } from "../sessions/index.ts";
import { chooseMessageId } from "../turns/index.ts";
import { AGENT_MODEL_PREFIX, handoffSql, type StoredHandoff, toAgent } from "./handoff-state.store.ts";

export type AgentMessage = {
  workspaceId: string;
  sessionId: string;
  requestId: string;
  agentId: string;
  agentName: string;
  text: string;
};

// Locks the session's row before it reads the clock and chooses the id, as OpenTurn does.
const storeStatement = defineStatement<AgentMessage & { step: number; model: string }>(
  "store_agent_message",
  `
  WITH session AS (
    UPDATE conversation.sessions s
    SET message_count = s.message_count + 1, last_message_id = s.last_message_id + :step::integer,
        last_activity_at = greatest(s.last_activity_at, clock_timestamp()), handoff_expires_at = NULL
    WHERE s.workspace_id = :workspaceId AND s.session_id = :sessionId AND s.source = 'widget' AND ${IS_LISTED}
      AND s.handoff_state = 'assigned' AND s.agent_id = :agentId
      AND NOT EXISTS (
        SELECT FROM conversation.messages m
        WHERE m.workspace_id = :workspaceId AND m.session_id = :sessionId AND m.turn_id = :requestId AND m.agent_name IS NOT NULL
      )
    RETURNING s.workspace_id, s.last_message_id
  ), written AS (
    SELECT workspace_id, last_message_id AS id, clock_timestamp() AS at FROM session
  ), message AS (
    INSERT INTO conversation.messages (
      workspace_id, session_id, message_id, turn_id, role, content, status, model, agent_name, created_at, closed_at
    )
    SELECT :workspaceId, :sessionId, id, :requestId, 'assistant', :text, 'done', :model, :agentName, at, at FROM written
  )
  SELECT w.id FROM written w WHERE w.workspace_id = :workspaceId`,
);

const FIND_MESSAGE = `
  SELECT message_id AS id FROM conversation.messages
  WHERE workspace_id = $1 AND session_id = $2 AND turn_id = $3 AND agent_name IS NOT NULL`;

const UNIQUE_VIOLATION = "23505";

/**
 * Stores a message of the agent who has the session, and returns its id; of a repeated request, the id of the first one. Returns undefined if the
 * session does not belong to the agent.
 */
export async function storeAgentMessage(database: Database, message: AgentMessage): Promise<number | undefined> {
  const values = { ...message, step: chooseMessageId().step, model: `${AGENT_MODEL_PREFIX}${message.agentId}` };
  // A repeated request that runs at the same time violates the unique index after it has waited for the first one.
  const stored = await database.query<{ id: number }>(storeStatement(values)).catch((error: unknown) => {
    if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
    return { rows: [] };
  });
  if (stored.rows[0] !== undefined) return stored.rows[0].id;
  const { rows } = await database.query<{ id: number }>({
    name: "find_agent_message",
    text: FIND_MESSAGE,
    values: [message.workspaceId, message.sessionId, message.requestId],
  });
  return rows[0]?.id;
}

export type HandoffMessage = {
  id: number;
  content: string;
  createdAt: string;
  agentName: string | null;
  model: string;
};

export type HandoffPage = {
  handoff: StoredHandoff;
  messages: HandoffMessage[];
  hasMore: boolean;
  /** What the next page is after: the last message, or without more messages the session's last one, so that the next read skips the bot's turns. */
  position: number;
};

const PAGE_MESSAGES = 50;

const MESSAGE_FIELDS = `
  m.message_id AS id, m.content, ${formatTimeSql("m.created_at")} AS "createdAt", m.agent_name AS "agentName", m.model`;

/** Whether a message is of or to a person. `m` is a row of conversation.messages. */
const IS_HANDOFF_MESSAGE = `(m.agent_name IS NOT NULL OR m.role = 'user' AND EXISTS (
  SELECT FROM conversation.turns t WHERE t.workspace_id = m.workspace_id AND t.turn_id = m.turn_id AND t.status = 'handoff'
))`;

// A message's id is chosen while its session is locked, so no message becomes visible after one with a higher id.
const READ_MESSAGES = `
  SELECT ${handoffSql()} AS handoff, coalesce(page.messages, '[]') AS messages, s.last_message_id AS "lastMessageId"
  FROM conversation.sessions s
  CROSS JOIN LATERAL (
    SELECT json_agg(message ORDER BY id) AS messages FROM (
      SELECT ${MESSAGE_FIELDS}
      FROM conversation.messages m
      WHERE m.workspace_id = $1 AND m.session_id = $2 AND m.message_id > $6 AND m.message_id >= coalesce(s.visitor_since, 0)
        AND ${IS_HANDOFF_MESSAGE}
      ORDER BY m.message_id
      LIMIT ${PAGE_MESSAGES + 1}
    ) message
  ) page
  WHERE s.workspace_id = $1 AND s.session_id = $2 AND s.bot_id = $3 AND s.source = 'widget' AND ${IS_LISTED}
    AND ${mayUseSessionSql("$4", "$5::boolean")}`;

/**
 * Reads the state of a session, and its messages of and to people after `after`. Returns undefined if the visitor may not use the session, or if it
 * does not exist, was deleted or erased, or is of the playground.
 */
export async function readHandoff(
  database: Database,
  { workspaceId, sessionId, botId, visitorId, visitorVerified }: SessionRequest,
  after: bigint,
): Promise<HandoffPage | undefined> {
  const { rows } = await database.query<Pick<HandoffPage, "handoff" | "messages"> & { lastMessageId: number }>({
    name: "read_handoff",
    text: READ_MESSAGES,
    values: [workspaceId, sessionId, botId, visitorId, visitorVerified, after],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  const messages = row.messages.slice(0, PAGE_MESSAGES);
  const hasMore = row.messages.length > PAGE_MESSAGES;
  const position = hasMore ? (messages.at(-1)?.id ?? 0) : Math.max(row.lastMessageId, Number(after));
  return { handoff: row.handoff, messages, hasMore, position };
}

// A session that nobody has asked for a person has no handoff_at, and its messages are not read.
const LIST_MESSAGES = `
  SELECT ${MESSAGE_FIELDS}
  FROM conversation.sessions s
  JOIN conversation.messages m ON m.workspace_id = s.workspace_id AND m.session_id = s.session_id
  WHERE s.workspace_id = $1 AND s.session_id = $2 AND s.handoff_at IS NOT NULL AND m.message_id > $3 AND ${IS_HANDOFF_MESSAGE}
  ORDER BY m.message_id
  LIMIT $4`;

/** Lists a session's messages of and to people with an id above `afterMessageId`, oldest first. */
export async function listHandoffMessages(
  database: Database,
  { workspaceId, sessionId }: { workspaceId: string; sessionId: string },
  { afterMessageId, limit }: { afterMessageId: number; limit: number },
): Promise<HandoffMessage[]> {
  const values = [workspaceId, sessionId, afterMessageId, limit];
  return (await database.query<HandoffMessage>({ name: "list_handoff_messages", text: LIST_MESSAGES, values })).rows;
}

/** Returns the protobuf HandoffMessage. */
export function toHandoffMessageRecord({ id, content, createdAt, agentName, model }: HandoffMessage) {
  return { id: BigInt(id), content, createdAt, ...toAgent(agentName, model) };
}
