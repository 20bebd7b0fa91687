import { HandoffState } from "@parley/rpc/conversation";

/** Who answers the visitor of a session, as handoffSql returns it. */
export type StoredHandoff = {
  state: "bot" | "requested" | "assigned";
  /** See parley.conversation.v1.Handoff. */
  reason: string;
  changedAtMicroseconds: number;
  expiresInMs: number;
  agentId: string | null;
  agentName: string | null;
  /** Whether the visitor has left a contact message that the team is not done with. */
  contactPending: boolean;
};

const STATES = {
  bot: HandoffState.BOT,
  requested: HandoffState.REQUESTED,
  assigned: HandoffState.ASSIGNED,
} as const;

/** Returns SQL for the StoredHandoff of a session. `s` is a row of conversation.sessions. */
export const handoffSql = (s = "s") => `
  json_build_object(
    'state', coalesce(${s}.handoff_state, 'bot'), 'reason', coalesce(${s}.handoff_reason, ''),
    'changedAtMicroseconds', coalesce((extract(epoch FROM ${s}.handoff_at) * 1000000)::bigint, 0),
    'expiresInMs', CASE WHEN ${s}.handoff_state = 'requested'
      THEN greatest(0, ceil(extract(epoch FROM ${s}.handoff_expires_at - clock_timestamp()) * 1000))::integer ELSE 0 END,
    'agentId', ${s}.agent_id, 'agentName', ${s}.agent_name,
    'contactPending', ${s}.contact_at IS NOT NULL
  )`;

/** How long a visitor waits for an answer of the person who has the session: since the request that the person took, or the first message without an answer. */
export const ANSWER_WITHIN = "interval '30 minutes'";
/** How long a person keeps a session in which nobody writes. */
export const MAX_SILENCE = "interval '4 hours'";

/** SQL for the time of a session's next change of state, later than the last one. `s` is the row that is updated. */
export const NEXT_CHANGE = "greatest(clock_timestamp(), s.handoff_at + interval '1 microsecond')";

/** Returns the protobuf Handoff. */
export function toHandoffMessage({
  state,
  reason,
  changedAtMicroseconds,
  expiresInMs,
  agentId,
  agentName,
  contactPending,
}: StoredHandoff) {
  return {
    state: STATES[state],
    reason,
    changedAtMicroseconds: BigInt(changedAtMicroseconds),
    expiresInMs,
    contactPending,
    ...(agentId !== null && { agent: { id: agentId, name: agentName ?? "" } }),
  };
}

/** Begins the model of a person's message. */
export const AGENT_MODEL_PREFIX = "human:";

/** Returns the field `agent` of a message, given its columns; no field for a message of the visitor or of the bot. */
export function toAgent(agentName: string | null, model: string) {
  return agentName === null ? {} : { agent: { id: model.slice(AGENT_MODEL_PREFIX.length), name: agentName } };
}
