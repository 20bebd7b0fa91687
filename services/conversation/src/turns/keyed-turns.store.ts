import type { TurnStatus } from "@parley/rpc/outcomes";
import type { Database } from "@parley/service-kit";
import { handoffSql, type StoredHandoff, toHandoffMessage } from "../handoff/index.ts";
import { mayUseSessionSql, type RequestVisitor } from "../sessions/index.ts";
import type { MessageSource, QuotaUsage } from "./close-turn.store.ts";

/**
 * The fields of a turn that an edge needs to return the turn's reply, or to follow the reply while it streams. The turn may have no idempotency
 * key.
 */
export type StoredTurn = {
  turnId: string;
  messageId: number;
  edgeId: string;
  /** Empty if the turn is closed, the edge has no address for other edges, or the edge's lease has expired. */
  edgeAddress: string;
  edgeToken: string;
  requestHash: Buffer | null;
  status: TurnStatus;
  content: string;
  errorCode: string;
  blockedReason: string | null;
  quota: QuotaUsage | null;
  sources: MessageSource[];
  /** Set if the reply is complete or cancelled, and the bot does not answer in the session. */
  handoff: ReturnType<typeof toHandoffMessage> | null;
  model: string;
  tokensIn: number;
  tokensOut: number;
  latencyMs: number;
};

type TurnRow = Omit<StoredTurn, "handoff"> & { handoff: StoredHandoff | null };

const toStoredTurn = ({ handoff, ...turn }: TurnRow): StoredTurn => ({
  ...turn,
  handoff: handoff && toHandoffMessage(handoff),
});

export type KeyedTurnSearch = RequestVisitor & {
  workspaceId: string;
  sessionId: string;
  botId: string;
  /** The session's source: widget or playground. */
  source: string;
  keyHash: Uint8Array;
};

const MAY_USE_SESSION = mayUseSessionSql("$6", "$7::boolean");

const TURN_FIELDS = `
  SELECT t.turn_id AS "turnId", t.message_id AS "messageId", t.edge_id AS "edgeId", t.request_hash AS "requestHash", t.status,
         coalesce(reply.content, '') AS content, coalesce(reply.sources, '[]') AS sources, t.error_code AS "errorCode", t.blocked_reason AS "blockedReason", t.ending -> 'quota' AS quota, t.model,
         CASE WHEN s.handoff_state IS NOT NULL AND t.status IN ('done', 'cancelled') THEN ${handoffSql()} END AS handoff,
         t.tokens_in AS "tokensIn", t.tokens_out AS "tokensOut", t.latency_ms AS "latencyMs",
         coalesce(e.address, '') AS "edgeAddress", coalesce(e.token, '') AS "edgeToken"
  FROM conversation.turns t
  JOIN conversation.sessions s
    ON s.workspace_id = t.workspace_id AND s.session_id = t.session_id AND s.deleted_at IS NULL AND s.erased_at IS NULL
  LEFT JOIN conversation.messages reply
    ON reply.workspace_id = t.workspace_id AND reply.session_id = t.session_id AND reply.message_id = t.message_id
  LEFT JOIN conversation.edges e ON e.edge_id = t.edge_id AND e.expires_at > now() AND t.status = 'streaming'
  WHERE t.workspace_id = $1 AND t.session_id = $2`;

const SELECT_TURN = `${TURN_FIELDS} AND s.bot_id = $3 AND s.source = $4
    AND ${MAY_USE_SESSION}`;

const FIND_KEYED_TURN = `
  SELECT running.count AS "runningCount", turn.*
  FROM (
    SELECT count(*)::integer AS count FROM conversation.turns t
    WHERE t.workspace_id = $1 AND t.session_id = $2 AND t.status = 'streaming' AND t.key_hash IS NOT NULL
      AND EXISTS (
        SELECT FROM conversation.sessions s WHERE s.workspace_id = $1 AND s.session_id = $2 AND ${MAY_USE_SESSION}
      )
  ) running
  LEFT JOIN (${SELECT_TURN} AND t.key_hash = $5) turn ON true`;

/**
 * Returns the turn with the given idempotency key, and how many keyed turns of the session are running. For a visitor who may not use the
 * session, it has neither.
 */
export async function findKeyedTurn(
  database: Database,
  { workspaceId, sessionId, botId, source, keyHash, visitorId, visitorVerified }: KeyedTurnSearch,
): Promise<{ turn: StoredTurn | undefined; runningCount: number }> {
  const { rows } = await database.query<TurnRow & { runningCount: number }>({
    name: "find_keyed_turn",
    text: FIND_KEYED_TURN,
    values: [workspaceId, sessionId, botId, source, keyHash, visitorId, visitorVerified],
  });
  const { runningCount = 0, ...turn } = rows[0] ?? {};
  return { turn: "turnId" in turn && turn.turnId !== null ? toStoredTurn(turn as TurnRow) : undefined, runningCount };
}

const FIND_TURN_OF_MESSAGE = `${SELECT_TURN}
    AND t.turn_id = (
      SELECT m.turn_id FROM conversation.messages m
      WHERE m.workspace_id = $1 AND m.session_id = $2 AND m.message_id = $5 AND m.role = 'assistant'
    )`;

/** Returns the turn of a reply, whether or not the turn has an idempotency key. Undefined for a visitor who may not use the session. */
export async function findTurnOfMessage(
  database: Database,
  {
    workspaceId,
    sessionId,
    botId,
    source,
    messageId,
    visitorId,
    visitorVerified,
  }: Omit<KeyedTurnSearch, "keyHash"> & { messageId: string },
): Promise<StoredTurn | undefined> {
  const { rows } = await database.query<TurnRow>({
    name: "find_turn_of_message",
    text: FIND_TURN_OF_MESSAGE,
    values: [workspaceId, sessionId, botId, source, messageId, visitorId, visitorVerified],
  });
  return rows[0] && toStoredTurn(rows[0]);
}

/** Lists the running turns of a session, with and without an idempotency key. */
export async function listRunningTurns(
  database: Database,
  { workspaceId, sessionId }: { workspaceId: string; sessionId: string },
): Promise<StoredTurn[]> {
  const { rows } = await database.query<TurnRow>({
    name: "list_running_turns",
    text: `${TURN_FIELDS} AND t.status = 'streaming'`,
    values: [workspaceId, sessionId],
  });
  return rows.map(toStoredTurn);
}
