import { type Database, defineStatement, type Queryable } from "@parley/service-kit";
import { botSlugSql, recordEventSql } from "../events/index.ts";
import { IS_LISTED, mayUseSessionSql, type SessionRequest } from "../sessions/index.ts";
import { ANSWER_WITHIN, handoffSql, MAX_SILENCE, NEXT_CHANGE, type StoredHandoff } from "./handoff-state.store.ts";

export type Agent = { id: string; name: string };

type SessionKey = { workspaceId: string; sessionId: string };

/** SQL condition: people of the team may answer in the session `s`. */
export const CAN_HAND_OFF = `s.workspace_id = :workspaceId AND s.session_id = :sessionId AND s.source = 'widget' AND ${IS_LISTED}`;

/** Returns a statement that changes the state of a session, and records the change as an event. The locked row decides whether it changes. */
function changeStatement<V extends SessionKey>(
  name: string,
  { set, where, event, data }: { set: string; where: string; event: string; data: string },
) {
  return defineStatement<V>(
    name,
    `
    WITH changed AS (
      UPDATE conversation.sessions s SET handoff_at = ${NEXT_CHANGE}, ${set}
      WHERE ${CAN_HAND_OFF} AND ${where}
      RETURNING s.workspace_id, s.session_id, s.bot_id, s.handoff_reason, s.agent_id, s.agent_name, ${handoffSql()} AS handoff,
                (extract(epoch FROM s.handoff_at - s.handoff_requested_at) * 1000)::float8 AS "waitMs"
    ), event AS (${recordEventSql({
      source: "changed c",
      workspace: ":workspaceId",
      type: `'${event}'`,
      session: "c.session_id",
      data: `jsonb_strip_nulls(jsonb_build_object('bot_slug', ${botSlugSql(":workspaceId", "c.bot_id")}, 'session_id', c.session_id, ${data}))`,
    })})
    SELECT c.handoff, c."waitMs" FROM changed c WHERE c.workspace_id = :workspaceId`,
  );
}

/** A change of state. `waitMs`: how long the visitor has waited, if the visitor asked for a person. */
export type Change = { handoff: StoredHandoff; waitMs: number | null };

async function change(
  database: Queryable,
  statement: ReturnType<ReturnType<typeof changeStatement>>,
): Promise<Change | undefined> {
  return (await database.query<Change>(statement)).rows[0];
}

/** Why a person was asked for. */
export type RequestReason = "visitor" | "model" | "declined" | "badly_rated";

type NewRequest = SessionKey & {
  reason: RequestReason;
  waitSeconds: number;
  /** For the reasons declined and badly_rated: how many of the bot's last replies must all have caused the reason. */
  repliesInARow: number;
};

/** SQL for the bot's last replies since the state last changed: after people have answered, the count begins anew. */
const LAST_REPLIES = `
  SELECT m.turn_id, m.rating FROM conversation.messages m
  WHERE m.workspace_id = :workspaceId AND m.session_id = :sessionId AND m.role = 'assistant' AND m.agent_name IS NULL AND m.status = 'done'
    AND m.created_at > coalesce(s.handoff_at, '-infinity')
  ORDER BY m.message_id DESC LIMIT :repliesInARow::integer`;

const IS_CAUSED = `CASE :reason::text
  WHEN 'declined' THEN (
    SELECT count(*) FILTER (WHERE t.finish_detail = 'declined') FROM (${LAST_REPLIES}) last
    JOIN conversation.turns t ON t.workspace_id = :workspaceId AND t.turn_id = last.turn_id
  ) = :repliesInARow::integer
  WHEN 'badly_rated' THEN (SELECT count(*) FILTER (WHERE last.rating = 'down') FROM (${LAST_REPLIES}) last) = :repliesInARow::integer
  ELSE true END`;

const requestStatement = changeStatement<NewRequest>("request_handoff", {
  set: `handoff_state = 'requested', handoff_reason = :reason, handoff_requested_at = ${NEXT_CHANGE},
          handoff_expires_at = clock_timestamp() + make_interval(secs => :waitSeconds), agent_id = NULL, agent_name = NULL`,
  where: `s.handoff_state IS NULL AND ${IS_CAUSED}`,
  event: "handoff.requested",
  data: "'reason', c.handoff_reason",
});

/**
 * Asks for a person. Returns undefined if the session waits for one or has one, if its last replies are no reason to ask, or if it cannot be handed
 * off.
 */
export const requestHandoff = (database: Database, request: NewRequest) => change(database, requestStatement(request));

type Assignment = SessionKey & { agentId: string; agentName: string };

// A visitor who waits begins to wait for the answer of this person.
const ASSIGN = `handoff_state = 'assigned', agent_id = :agentId, agent_name = :agentName,
  handoff_expires_at = CASE WHEN s.handoff_expires_at IS NOT NULL THEN clock_timestamp() + ${ANSWER_WITHIN} END,
  handoff_requested_at = CASE WHEN s.handoff_state = 'requested' THEN s.handoff_requested_at END`;
/** Of an event: the reason, and the agent if there was one. */
const CHANGE_DATA = "'reason', c.handoff_reason, 'agent_id', c.agent_id, 'agent_name', c.agent_name";

const takeStatement = changeStatement<Assignment>("take_handoff", {
  set: `handoff_reason = 'taken', ${ASSIGN}`,
  where: "s.handoff_state IS DISTINCT FROM 'assigned'",
  event: "handoff.assigned",
  data: CHANGE_DATA,
});

const assignStatement = changeStatement<Assignment & { reason: AssignReason }>("assign_handoff", {
  set: `handoff_reason = :reason::text, ${ASSIGN}`,
  where: "(s.handoff_state IS DISTINCT FROM 'assigned' OR s.agent_id <> :agentId)",
  event: "handoff.assigned",
  data: CHANGE_DATA,
});

/** Whether the agent took the session, or somebody else gave it to the agent. */
export type AssignReason = "taken" | "assigned";

const BACK_TO_BOT = "handoff_state = NULL, handoff_requested_at = NULL, handoff_expires_at = NULL";

const resolveStatement = changeStatement<SessionKey>("resolve_handoff", {
  set: `handoff_reason = 'resolved', ${BACK_TO_BOT}`,
  where: "s.handoff_state IS NOT NULL",
  event: "handoff.resolved",
  data: CHANGE_DATA,
});

/** Why a session has gone back to the bot by itself: nobody came in time, the person did not answer in time, or nobody wrote for long. */
export type ExpiryReason = "missed" | "unanswered" | "inactive";

const expireStatement = changeStatement<SessionKey>("expire_handoff", {
  set: `handoff_reason = CASE WHEN s.handoff_state = 'requested' THEN 'missed' WHEN s.handoff_expires_at IS NOT NULL THEN 'unanswered' ELSE 'inactive' END,
        ${BACK_TO_BOT}`,
  where: `s.handoff_state IS NOT NULL AND CASE WHEN s.handoff_expires_at IS NOT NULL THEN s.handoff_expires_at <= clock_timestamp()
            ELSE greatest(s.last_activity_at, s.handoff_at) <= clock_timestamp() - ${MAX_SILENCE} END`,
  event: "handoff.resolved",
  data: CHANGE_DATA,
});

/** Gives the session to an agent, unless another one or the agent has it: returns undefined then. */
export const takeHandoff = (database: Queryable, session: SessionKey, agent: Agent) =>
  change(database, takeStatement({ ...session, agentId: agent.id, agentName: agent.name }));

/** Gives the session to an agent, whoever had it. Returns undefined if the agent has it. */
export const assignHandoff = (
  database: Queryable,
  session: SessionKey,
  agent: Agent,
  reason: AssignReason = "assigned",
) => change(database, assignStatement({ ...session, agentId: agent.id, agentName: agent.name, reason }));

/** Gives the session back to the bot. Returns undefined if the bot has it. */
export const resolveHandoff = (database: Queryable, session: SessionKey) => change(database, resolveStatement(session));

/** Gives the session back to the bot if nobody came or answered in time, or if nobody wrote for long. Returns undefined if it is too early. */
export const expireHandoff = (database: Database, session: SessionKey) => change(database, expireStatement(session));

// The two parts are disjoint.
const LIST_EXPIRED = `
  (SELECT s.workspace_id AS "workspaceId", s.session_id AS "sessionId" FROM conversation.sessions s
   WHERE s.handoff_expires_at <= now() AND ${IS_LISTED} ORDER BY s.handoff_expires_at LIMIT $1)
  UNION ALL
  (SELECT s.workspace_id, s.session_id FROM conversation.sessions s
   WHERE s.handoff_state = 'assigned' AND s.handoff_expires_at IS NULL AND s.last_activity_at <= now() - ${MAX_SILENCE}
     AND s.handoff_at <= now() - ${MAX_SILENCE} AND ${IS_LISTED} ORDER BY s.last_activity_at LIMIT $1)
  LIMIT $1`;

/** Lists sessions of any workspace that expireHandoff gives back to the bot. */
export async function listExpired(database: Database, limit: number): Promise<SessionKey[]> {
  const { rows } = await database.query<SessionKey>({
    name: "list_expired_handoffs",
    text: LIST_EXPIRED,
    values: [limit],
  });
  return rows;
}

const READ_STATE = `
  SELECT ${handoffSql()} AS handoff FROM conversation.sessions s
  WHERE s.workspace_id = $1 AND s.session_id = $2 AND s.source = 'widget' AND ${IS_LISTED}`;

/** Returns undefined if the session cannot be handed off: it does not exist, was deleted or erased, or is of the playground. */
export async function readHandoffState(
  database: Queryable,
  { workspaceId, sessionId }: SessionKey,
): Promise<StoredHandoff | undefined> {
  const { rows } = await database.query<{ handoff: StoredHandoff }>({
    name: "read_handoff_state",
    text: READ_STATE,
    values: [workspaceId, sessionId],
  });
  return rows[0]?.handoff;
}

/** Returns the state of a turn's session; undefined if the bot answers in it, or if it was deleted or erased. */
export async function readHandoffOfTurn(
  database: Database,
  { workspaceId, turnId }: { workspaceId: string; turnId: string },
): Promise<StoredHandoff | undefined> {
  const { rows } = await database.query<{ handoff: StoredHandoff }>({
    name: "read_handoff_of_turn",
    text: `SELECT ${handoffSql()} AS handoff
           FROM conversation.turns t
           JOIN conversation.sessions s ON s.workspace_id = t.workspace_id AND s.session_id = t.session_id
           WHERE t.workspace_id = $1 AND t.turn_id = $2 AND s.handoff_state IS NOT NULL AND ${IS_LISTED}`,
    values: [workspaceId, turnId],
  });
  return rows[0]?.handoff;
}

const READ_STATE_OF_VISITOR = `${READ_STATE} AND s.bot_id = $3 AND ${mayUseSessionSql("$4", "$5::boolean")}`;

/** As readHandoffState, for a visitor: undefined also if the session has another bot or the visitor may not use it. */
export async function readVisitorsHandoff(
  database: Database,
  { workspaceId, sessionId, botId, visitorId, visitorVerified }: SessionRequest,
): Promise<StoredHandoff | undefined> {
  const { rows } = await database.query<{ handoff: StoredHandoff }>({
    name: "read_visitors_handoff",
    text: READ_STATE_OF_VISITOR,
    values: [workspaceId, sessionId, botId, visitorId, visitorVerified],
  });
  return rows[0]?.handoff;
}
