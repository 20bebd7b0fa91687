import { Failure } from "../shared/failure.ts";
import { streamTurn } from "../shared/stream-turn.ts";
import type { PanelContext } from "../shared/types.ts";

/** A reply, as far as it has arrived. */
export interface Reply {
  readonly text: string;
  /** The service's ID of the reply, for ratings. Unset for the fallback of a blocked message, which cannot be rated. */
  readonly messageId?: number;
}

/**
 * Sends a visitor's message and calls `onReply` with the whole reply so far, each time that it grows.
 * Throws a Failure, or the signal's reason.
 */
export async function sendMessage(
  { base, publicKey, visitor }: PanelContext,
  session: string,
  message: string,
  signal: AbortSignal,
  onReply: (reply: Reply) => void,
): Promise<void> {
  let reply: Reply = { text: "" };
  let failure: Failure | undefined;
  await streamTurn({
    url: `${base}api/chat/`,
    body: {
      public_key: publicKey,
      session_id: session,
      message,
      visitor_id: visitor.visitorId,
      visitor_metadata: visitor.metadata,
    },
    signal,
    onEvent(name, data) {
      if (name === "meta") {
        reply = { ...reply, messageId: data.message_id as number };
      } else if (name === "token") {
        reply = { ...reply, text: reply.text + (data.text as string) };
      } else if (name === "blocked") {
        reply = { text: data.fallback as string };
      } else if (name === "error") {
        failure = new Failure(data.code as string);
      }
      onReply(reply);
    },
  });
  if (failure || !reply.text.trim()) {
    throw failure ?? new Failure("empty");
  }
}
