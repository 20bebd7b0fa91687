import type { Failure } from "../shared/failure.ts";
import { streamTurn } from "../shared/stream-turn.ts";
import type { PanelContext } from "../shared/types.ts";
import { readMetadata, readVisitorId, readVisitorToken } from "./identity.ts";

/** A reply, as far as it has arrived. */
export interface Reply {
  readonly text: string;
  /** The service's ID of the reply, for ratings. Unset before the `meta` event, and for a blocked turn, which cannot be rated. */
  readonly messageId?: number;
}

/** Why a turn has no complete reply: a code, and the id of its request if the service responded. */
export interface FailedTurn {
  readonly code: string;
  readonly requestId: string;
}

/** A visitor's message in a session, with its idempotency key. */
export interface KeyedMessage {
  readonly session: string;
  readonly message: string;
  readonly key: string;
}

/**
 * Sends a visitor's message. After each event, calls `onReply` with the reply so far. If the same message was sent before
 * with the same key, receives the reply to it again.
 *
 * Returns undefined if the reply is complete or blocked. Otherwise the returned code is that of its `error` event, "stopped" if it was
 * cancelled, or "empty" if it has no text. Throws a Failure if the service refuses the message, if the browser is offline, or if
 * the connection is lost too often; in the last two cases the service may still generate the reply. Throws the signal's
 * reason if the signal is aborted.
 */
export async function sendMessage(
  { base, publicKey, visitor }: PanelContext,
  { session, message, key }: KeyedMessage,
  signal: AbortSignal,
  onReply: (reply: Reply) => void,
): Promise<FailedTurn | undefined> {
  let reply: Reply = { text: "" };
  let code = "";
  let requestId = "";
  const send = async () =>
    streamTurn({
      url: `${base}api/chat/`,
      body: {
        public_key: publicKey,
        session_id: session,
        message,
        visitor_id: readVisitorId(visitor),
        visitor_metadata: readMetadata(visitor),
        visitor_token: await readVisitorToken(visitor, signal),
      },
      key,
      signal,
      onEvent(name, data, id) {
        requestId = id;
        if (name === "meta") {
          reply = { text: "", messageId: data.message_id as number };
        } else if (name === "token") {
          reply = { ...reply, text: reply.text + (data.text as string) };
        } else if (name === "blocked") {
          reply = { text: data.fallback as string };
        } else if (name === "error") {
          code = data.code as string;
        } else if (data.finish_reason === "cancelled") {
          code = "stopped";
        }
        onReply(reply);
      },
    });
  await send().catch((error: Failure) => {
    if (error.code !== "invalid_visitor_token") {
      throw error;
    }
    // The token may have expired. Asks the page for another one, once.
    return send();
  });
  code ||= reply.text.trim() ? "" : "empty";
  return code ? { code, requestId } : undefined;
}
