import { createHash } from "node:crypto";
import Type from "typebox";
import { badRequest, type HttpError } from "../http/index.ts";

/** A chat request's headers for idempotency and resumption. */
export type ResumeHeaders = {
  /** The idempotency key. */
  key: string | undefined;
  /** The header's value, not yet parsed. */
  lastEventId: string | undefined;
};

/** Where a client continues to read a reply: the reply's message id, and the offset in its text, in UTF-16 code units. */
export type ReplyPosition = { messageId: number; offset: number };

/** The pattern of an idempotency key: 1 to 255 visible ASCII characters. */
export const IDEMPOTENCY_KEY = "^[!-~]{1,255}$";
const EVENT_ID = /^([1-9]\d{0,15})-(0|[1-9]\d{0,8})$/;

export const ResumeRequestHeaders = Type.Object({
  "Idempotency-Key": Type.Optional(
    Type.String({
      pattern: IDEMPOTENCY_KEY,
      description:
        "Binds the reply to this key: 1 to 255 visible ASCII characters. Create a new key for each message. A request with the same key and message reads the same reply and opens no second turn.",
    }),
  ),
  "Last-Event-ID": Type.Optional(
    Type.String({
      description:
        "The `id` of the last event that the client has received. With `Idempotency-Key`, the reply continues after that event. Without `Idempotency-Key`, the response is an empty event stream.",
    }),
  ),
});

export function readResumeHeaders(headers: { "idempotency-key"?: string; "last-event-id"?: string }): ResumeHeaders {
  return { key: headers["idempotency-key"], lastEventId: headers["last-event-id"] };
}

/** Parses `<message id>-<offset>`. Throws 400 invalid_last_event_id. */
export function parseEventId(value: string): ReplyPosition {
  const [, messageId, offset] = EVENT_ID.exec(value) ?? [];
  if (messageId === undefined) throw invalidEventId();
  return { messageId: Number(messageId), offset: Number(offset) };
}

export function invalidEventId(): HttpError {
  return badRequest("invalid_last_event_id", "Last-Event-ID");
}

/**
 * Hashes an idempotency key with its source and user, so that two users may use the same key in one session.
 * @param userId the user of the playground; empty for a visitor.
 */
export function hashKey(source: "widget" | "playground", userId: string, key: string): Uint8Array {
  return sha256(JSON.stringify([source, userId, key]));
}

/** Hashes only the message. If a key is reused, metadata and referrer may differ, because they change from page to page. */
export function hashRequest(message: string): Uint8Array {
  return sha256(message);
}

function sha256(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
