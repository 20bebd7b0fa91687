import type { Failure } from "../shared/failure.ts";
import { streamTurn } from "../shared/stream-turn.ts";
import type { PanelContext } from "../shared/types.ts";
import { readMetadata, readVisitorId, readVisitorToken } from "./identity.ts";
import type { Source } from "./session-store.ts";

/** A reply, as far as it has arrived. */
export interface Reply {
  readonly text: string;
  /** The service's ID of the reply, for ratings. Unset before the `meta` event, and for a blocked turn, which cannot be rated. */
  readonly messageId?: number;
  readonly sources?: readonly Source[];
  /** The reply has asked for a person, or a person has taken over, or answers the message. */
  readonly handoff?: boolean;
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
  /** The session's gate: see SessionStore. */
  readonly gate: Readonly<Record<string, string>> | undefined;
}

export interface TurnListener {
  /** Receives the reply so far, after each event. */
  onReply(reply: Reply): void;
  /** Resolves when the message may be sent again, to the fields for which the service refused it. */
  passGate(refusal: Failure): Promise<Readonly<Record<string, string>>>;
}

/** How often a message is sent again after a refusal: with another token, or when the gate has been passed. */
const REPEATS: Readonly<Record<string, number>> = {
  invalid_visitor_token: 1,
  challenge_required: 1,
  consent_required: 1,
  rate_limited: 3,
};

/**
 * Sends a visitor's message. If the same message was sent before with the same key, receives the reply to it again.
 *
 * Returns undefined if the reply is complete or blocked, or if a person answers. Otherwise the returned code is that of its `error` event, "stopped" if it was
 * cancelled, or "empty" if it has no text. Throws a Failure if the service refuses the message, if the browser is offline, or if
 * the connection is lost too often; in the last two cases the service may still generate the reply. Throws the signal's
 * reason if the signal is aborted.
 */
export async function sendMessage(
  { base, publicKey, lang, visitor }: PanelContext,
  { session, message, key, gate }: KeyedMessage,
  signal: AbortSignal,
  { onReply, passGate }: TurnListener,
): Promise<FailedTurn | undefined> {
  let reply: Reply = { text: "" };
  let code = "";
  let requestId = "";
  let gateFields = gate;
  const send = async () =>
    streamTurn({
      url: `${base}api/chat/`,
      // The service chooses its texts by it: those of the panel's language, and not of the browser's.
      headers: { "Accept-Language": lang },
      body: {
        public_key: publicKey,
        session_id: session,
        message,
        visitor_id: readVisitorId(visitor),
        visitor_metadata: readMetadata(visitor),
        visitor_token: await readVisitorToken(visitor, signal),
        ...gateFields,
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
        } else if (name === "sources") {
          reply = { ...reply, sources: data.sources as Source[] };
        } else if (name === "handoff" || data.finish_reason === "handoff") {
          reply = { ...reply, handoff: true };
        } else if (name === "error") {
          code = data.code as string;
        } else if (data.finish_reason === "cancelled") {
          code = "stopped";
        }
        onReply(reply);
      },
    });
  const repeats = { ...REPEATS };
  const sendAndRepeat = (): Promise<void> =>
    send().catch(async (error: Failure) => {
      const left = repeats[error.code];
      if (!left) {
        throw error;
      }
      repeats[error.code] = left - 1;
      // If the token has expired, `send` asks the page for another one.
      if (error.code !== "invalid_visitor_token") {
        gateFields = { ...gateFields, ...(await passGate(error)) };
      }
      return sendAndRepeat();
    });
  await sendAndRepeat();
  code ||= reply.text.trim() ? "" : "empty";
  return code && !reply.handoff ? { code, requestId } : undefined;
}
