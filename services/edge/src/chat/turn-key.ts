import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { HttpError } from "../http/index.ts";

/** The headers of a request for a reply with a key. */
export type ResumeHeaders = {
  /** The idempotency key; undefined without the header. */
  key: string | undefined;
  /** The Last-Event-ID header as sent; undefined without it. */
  lastEventId: string | undefined;
};

/** Where a reader continues. */
export type ReplyPosition = { messageId: number; offset: number };

/** 1 to 255 visible ASCII characters. */
const KEY = /^[!-~]{1,255}$/;
const EVENT_ID = /^([1-9]\d{0,15})-(0|[1-9]\d{0,8})$/;

/** Reads the headers. Throws 400 invalid_idempotency_key. */
export function readResumeHeaders(headers: IncomingHttpHeaders): ResumeHeaders {
  const { "idempotency-key": key, "last-event-id": lastEventId } = headers;
  return {
    key: key === undefined ? undefined : requireKey(key),
    lastEventId: lastEventId === undefined ? undefined : String(lastEventId),
  };
}

/** Throws 400 invalid_idempotency_key if the value is not a key. */
export function requireKey(value: unknown): string {
  if (typeof value !== "string" || !KEY.test(value)) throw new HttpError(400, "invalid_idempotency_key");
  return value;
}

/** Throws 400 invalid_last_event_id if the value is not an id that Parley has sent. */
export function parseEventId(value: string): ReplyPosition {
  const [, messageId, offset] = EVENT_ID.exec(value) ?? [];
  if (messageId === undefined) throw invalidEventId();
  return { messageId: Number(messageId), offset: Number(offset) };
}

export function invalidEventId(): HttpError {
  return new HttpError(400, "invalid_last_event_id");
}

/** Hashes a key with all that separates equal keys of one session. @param caller the user of the playground; empty for a visitor. */
export function hashKey(source: "widget" | "playground", caller: string, key: string): Uint8Array {
  return sha256(JSON.stringify([source, caller, key]));
}

/** Hashes what must be equal in every request with a key: the message alone, because metadata and referrer change from page to page. */
export function hashRequest(message: string): Uint8Array {
  return sha256(message);
}

function sha256(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
