import { type Database, defineStatement } from "@parley/service-kit";
import { botSlugSql, recordEventSql } from "../events/index.ts";
import type { StoredHandoff } from "../handoff/index.ts";
import { chooseMessageId } from "./message-ids.ts";
import { isMessageIdTaken, isUniqueViolation, type NewTurn, openTurnSql, toOpenError } from "./open-turn.store.ts";

export type OpenedHandoffTurn = { messageId: number; handoff: StoredHandoff };

const RECORD_MESSAGE = recordEventSql({
  source: "opened",
  workspace: ":workspaceId",
  type: "'handoff.message'",
  session: ":sessionId::uuid",
  data: `jsonb_build_object('bot_slug', ${botSlugSql(":workspaceId", ":botId::uuid")}, 'session_id', :sessionId::uuid,
    'message_id', user_message_id, 'turn_id', :turnId::uuid, 'state', handoff ->> 'state', 'agent_id', handoff ->> 'agentId')`,
});

type Values = NewTurn & {
  status: "handoff";
  blockedReason: undefined;
  firstReplyId: bigint;
  replyIdStep: number;
  isQuestion: false;
};

const openStatement = defineStatement<Values>(
  "open_handoff_turn",
  openTurnSql({ after: `, message_event AS (${RECORD_MESSAGE})`, isHandoff: true }),
);

/**
 * Stores a visitor's message, without a reply, in a session that waits for a person or has one. Returns undefined and stores nothing if the bot
 * answers in the session, or if openTurn would store nothing for another reason. `turn` needs no knowledge and no model.
 */
export async function openHandoffTurn(database: Database, turn: NewTurn): Promise<OpenedHandoffTurn | undefined> {
  const { start, step } = chooseMessageId();
  const values = {
    ...turn,
    model: "",
    status: "handoff" as const,
    blockedReason: undefined,
    isQuestion: false as const,
  };
  try {
    const statement = openStatement({ ...values, firstReplyId: start, replyIdStep: step });
    const { rows } = await database.query<OpenedHandoffTurn>(statement);
    return rows[0];
  } catch (error) {
    if (isMessageIdTaken(error)) return openHandoffTurn(database, turn);
    if (isUniqueViolation(error)) return undefined;
    throw toOpenError(error);
  }
}
