import type { TurnStatus } from "@parley/rpc/outcomes";
import type { Database } from "@parley/service-kit";
import type { MessageSource } from "./close-turn.store.ts";

/** A turn's status, timings and counts, without the content of its messages. */
export type TurnRecord = {
  turnId: string;
  messageId: number;
  sessionId: string;
  botSlug: string;
  source: string;
  status: TurnStatus;
  errorCode: string;
  blockedReason: string;
  askedModel: string;
  model: string;
  tokensIn: number;
  tokensOut: number;
  latencyMs: number;
  firstTokenMs: number;
  phases: { name: string; microseconds: number }[];
  /** The UTC month of the turn's reservation, "YYYY-MM"; empty if there is none. */
  month: string;
  /** The UTC day of the hold of an unpaid reply, "YYYY-MM-DD"; empty for all other turns. */
  unpaidDay: string;
  openedAt: Date;
  closedAt: Date | null;
  /** From `openedAt` to `closedAt`, or until now if the turn is open. */
  openMicroseconds: number;
  /** Whether the turn's settlement is still in the outbox. */
  isSettling: boolean;
  reconnects: number;
  finishDetail: string;
  /**
   * The knowledge chunks of the reply's prompt, best first, and whether the reply cites them. `source` and `heading` are empty if the chunk was deleted
   * since.
   */
  knowledge: { chunkId: number; source: string; heading: string; cited: boolean }[];
  /** The stored tool calls without their arguments. */
  tools: { name?: string; status?: string; latency_ms?: number }[];
};

const FIELDS = `
  t.turn_id AS "turnId", t.message_id AS "messageId", t.session_id AS "sessionId", b.slug AS "botSlug", s.source, t.status,
  t.error_code AS "errorCode", coalesce(t.blocked_reason, '') AS "blockedReason", t.asked_model AS "askedModel", t.model,
  t.tokens_in AS "tokensIn", t.tokens_out AS "tokensOut", t.latency_ms AS "latencyMs", t.first_token_ms AS "firstTokenMs",
  coalesce(t.phases, '[]') AS phases, coalesce(to_char(t.month, 'YYYY-MM'), '') AS month,
  coalesce(to_char(t.unpaid_day, 'YYYY-MM-DD'), '') AS "unpaidDay",
  t.opened_at AS "openedAt", t.closed_at AS "closedAt", coalesce(t.reconnects, 0) AS reconnects,
  coalesce(t.finish_detail, '') AS "finishDetail",
  (extract(epoch FROM coalesce(t.closed_at, clock_timestamp()) - t.opened_at) * 1000000)::bigint AS "openMicroseconds",
  EXISTS (SELECT FROM conversation.outbox o WHERE o.workspace_id = t.workspace_id AND o.turn_id = t.turn_id) AS "isSettling",
  coalesce((
    SELECT jsonb_agg(jsonb_build_object('chunkId', used.id, 'source', coalesce(k.name, ''), 'heading', coalesce(c.heading, ''),
                                        'cited', used.id = ANY (reply.chunks_cited))
                     ORDER BY used.position)
    FROM unnest(reply.rag_chunks_used) WITH ORDINALITY AS used (id, position)
    LEFT JOIN conversation.knowledge_chunks c ON c.workspace_id = t.workspace_id AND c.chunk_id = used.id
    LEFT JOIN conversation.knowledge_sources k ON k.workspace_id = c.workspace_id AND k.source_id = c.source_id
  ), '[]') AS knowledge,
  coalesce((
    SELECT jsonb_agg(called.tool - 'arguments' ORDER BY called.position)
    FROM jsonb_array_elements(reply.tools_called) WITH ORDINALITY AS called (tool, position)
  ), '[]') AS tools`;

const JOINS = `
  JOIN conversation.sessions s ON s.workspace_id = t.workspace_id AND s.session_id = t.session_id
  JOIN conversation.bots b ON b.workspace_id = t.workspace_id AND b.bot_id = t.bot_id`;

// Reply ids are even, and a visitor's message has its reply's id minus 1 (message-ids.ts). Erasing a session deletes its messages, so the
// join on `reply` leaves out the turns of erased sessions.
const FIND_TURN_RECORD = `
  SELECT ${FIELDS}
  FROM conversation.turns t
  JOIN conversation.messages reply
    ON reply.workspace_id = t.workspace_id AND reply.session_id = t.session_id AND reply.message_id = t.message_id
  ${JOINS}
  WHERE t.workspace_id = $1`;
const FIND_BY_MESSAGE = `${FIND_TURN_RECORD} AND t.message_id = $2::bigint + $2::bigint % 2`;
const FIND_BY_TURN = `${FIND_TURN_RECORD} AND t.turn_id = $2`;

/** Returns the turn of a visitor's message or of a reply; undefined if the workspace has no such message. */
export async function findTurnRecord(
  database: Database,
  workspaceId: string,
  messageId: number,
): Promise<TurnRecord | undefined> {
  const { rows } = await database.query<TurnRecord>(FIND_BY_MESSAGE, [workspaceId, messageId]);
  return rows[0];
}

/** Returns a turn; undefined if the workspace has no such turn. */
export async function findTurnRecordById(
  database: Database,
  workspaceId: string,
  turnId: string,
): Promise<TurnRecord | undefined> {
  const { rows } = await database.query<TurnRecord>(FIND_BY_TURN, [workspaceId, turnId]);
  return rows[0];
}

export type SessionTurn = TurnRecord & {
  message: string;
  reply: string;
  rating: string;
  ratingReason: string;
  review: string;
  sources: MessageSource[];
};

// The subquery limits the replies before the joins, so that the query reads only one page of a long session.
const LIST_TURN_RECORDS = `
  SELECT ${FIELDS}, question.content AS message, reply.content AS reply, reply.rating,
    reply.rating_reason AS "ratingReason", reply.review, reply.sources
  FROM (
    SELECT * FROM conversation.messages
    WHERE workspace_id = $1 AND session_id = $2 AND message_id > $3 AND role = 'assistant' AND agent_name IS NULL
    ORDER BY message_id
    LIMIT $4
  ) reply
  JOIN conversation.turns t ON t.workspace_id = reply.workspace_id AND t.turn_id = reply.turn_id
  JOIN conversation.messages question
    ON question.workspace_id = reply.workspace_id AND question.session_id = reply.session_id AND question.message_id = reply.message_id - 1
  ${JOINS}
  ORDER BY reply.message_id`;

/** Lists a session's turns with a reply id above `afterMessageId`, oldest first. Includes streaming turns. */
export async function listTurnRecords(
  database: Database,
  { workspaceId, sessionId }: { workspaceId: string; sessionId: string },
  { afterMessageId, limit }: { afterMessageId: number; limit: number },
): Promise<SessionTurn[]> {
  const values = [workspaceId, sessionId, afterMessageId, limit];
  const { rows } = await database.query<SessionTurn>(LIST_TURN_RECORDS, values);
  return rows;
}
