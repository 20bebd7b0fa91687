import { isParleyError, type RpcClient, status } from "@parley/rpc";
import {
  type ConversationService,
  type HandoffMessage,
  HandoffState,
  type ReadHandoffResponse,
} from "@parley/rpc/conversation";
import { toHandoffBody } from "../turns/index.ts";
import { Alarm } from "./alarm.ts";
import type { LiveBus } from "./live-bus.ts";
import type { LiveWriter } from "./serve-live-stream.ts";

/** Without Redis, a message of another edge is on the screen within this time and a read. */
const POLL_MS = 3_000;
/** With Redis. Finds what was lost with a signal, and what the conversation service changes by itself. */
const SLOW_POLL_MS = 15_000;
/** The conversation service gives the session back to the bot some seconds after the end of the visitor's wait. Until then, the reader asks this often. */
const EXPIRY_POLL_MS = 1_500;
const READ_TIMEOUT_MS = 3_000;

export type LiveSession = {
  workspaceId: string;
  botId: string;
  sessionId: string;
  visitorId: string;
  visitorVerified: boolean;
};

type Deps = { conversation: Pick<RpcClient<typeof ConversationService>, "readHandoff">; bus: LiveBus };

export function readHandoff({ conversation }: Pick<Deps, "conversation">, session: LiveSession, after: bigint) {
  return conversation.readHandoff({ ...session, after }, { timeoutMs: READ_TIMEOUT_MS });
}

/**
 * Writes the state of a session and its messages, and each change, until the signal is aborted or the session is gone. The database decides what is
 * new; a signal of the bus only wakes the reader early.
 * @param first what `readHandoff` returned for `after`.
 */
export async function followHandoff(
  deps: Deps,
  session: LiveSession,
  writer: LiveWriter,
  { first, signal }: { first: ReadHandoffResponse; signal: AbortSignal },
): Promise<void> {
  const alarm = new Alarm(signal);
  const unsubscribe = deps.bus.subscribe(session, (received) => {
    if (received.type === "typing") void writer.write("typing", { agent: { name: received.name } });
    else alarm.ring();
  });
  let changedAt: bigint | undefined;
  try {
    // Something may have changed between the first read and the subscription.
    alarm.ring();
    for (let page: ReadHandoffResponse | undefined = first, position = first.position; !signal.aborted; ) {
      if (page !== undefined) {
        // The end of a conversation with a person follows its last message, which is not in this page.
        const isEarly = page.hasMore && page.handoff?.state === HandoffState.BOT;
        await writePage(writer, page, !isEarly && page.handoff?.changedAtMicroseconds !== changedAt);
        if (!isEarly) changedAt = page.handoff?.changedAtMicroseconds;
        ({ position } = page);
      }
      if (!page?.hasMore) await alarm.wait(pauseMs(deps.bus, page));
      if (signal.aborted) return;
      page = await readHandoff(deps, session, position).catch((error: unknown) => {
        if (isParleyError(error, status.NOT_FOUND) || isParleyError(error, status.FAILED_PRECONDITION)) throw error;
        // The database is away: the next poll reads again.
        return undefined;
      });
    }
  } finally {
    unsubscribe();
    alarm.dispose();
  }
}

function pauseMs(bus: LiveBus, page: ReadHandoffResponse | undefined): number {
  const pollMs = bus.isShared() ? SLOW_POLL_MS : POLL_MS;
  const handoff = page?.handoff;
  return handoff?.state === HandoffState.REQUESTED ? Math.min(pollMs, handoff.expiresInMs + EXPIRY_POLL_MS) : pollMs;
}

/** Writes the messages before the state if a conversation has ended, so that its last message does not follow its end. */
async function writePage(
  writer: LiveWriter,
  { handoff, messages }: ReadHandoffResponse,
  isChanged: boolean,
): Promise<void> {
  const state = handoff && isChanged ? toHandoffBody(handoff) : undefined;
  if (state !== undefined && state.state !== "bot") await writer.write("state", state);
  for (const message of messages) await writer.write("message", toMessageBody(message), `id: ${message.id}\n`);
  if (state?.state === "bot") await writer.write("state", state);
}

function toMessageBody({ id, content, createdAt, agent }: HandoffMessage) {
  const shown = { id: String(id), content, created_at: createdAt };
  return agent ? { ...shown, role: "assistant", agent: { name: agent.name } } : { ...shown, role: "user" };
}
