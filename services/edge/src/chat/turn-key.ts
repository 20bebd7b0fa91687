import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
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

/** An idempotency key: 1 to 255 visible ASCII characters. */
const KEY = /^[!-~]{1,255}$/;
const EVENT_ID = /^([1-9]\d{0,15})-(0|[1-9]\d{0,8})$/;

/** Throws 400 invalid_idempotency_key if the key is malformed. */
export function readResumeHeaders(headers: IncomingHttpHeaders): ResumeHeaders {
  const { "idempotency-key": key, "last-event-id": lastEventId } = headers;
  return {
    key: key === undefined ? undefined : requireKey(key, "Idempotency-Key"),
    lastEventId: lastEventId === undefined ? undefined : String(lastEventId),
  };
}

/** Throws 400 invalid_idempotency_key if the value of the field does not have the format of an idempotency key. */
export function requireKey(value: unknown, field: string): string {
  if (typeof value !== "string" || !KEY.test(value)) throw badRequest("invalid_idempotency_key", field);
  return value;
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
