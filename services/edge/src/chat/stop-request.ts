import { isUuid } from "@parley/service-kit";
import { invalidMessage, type JsonObject, parseJsonObject } from "../http/index.ts";
import { invalidSessionId, readRequiredText } from "./chat-request.ts";
import { requireKey } from "./turn-key.ts";

/** Names the reply to stop by its message id, or by the idempotency key of its request. */
export type StopTarget = { messageId: bigint } | { key: string };

export type StopRequest = { sessionId: string; target: StopTarget };

const DECIMAL = /^[1-9]\d{0,15}$/;

/** Parses the body of POST /api/chat/stop/. */
export function parseStopRequest(bytes: Uint8Array | undefined): StopRequest & { publicKey: string } {
  const body = parseJsonObject(bytes);
  return { publicKey: readRequiredText(body, "public_key"), ...parseStopFields(body) };
}

/** Parses the body of POST /api/chat/playground/stop/. */
export function parsePlaygroundStopRequest(bytes: Uint8Array | undefined): StopRequest & { botSlug: string } {
  const body = parseJsonObject(bytes);
  return { botSlug: readRequiredText(body, "bot_slug"), ...parseStopFields(body) };
}

function parseStopFields(body: JsonObject): StopRequest {
  const sessionId = readRequiredText(body, "session_id");
  const hasKey = Object.hasOwn(body, "idempotency_key");
  if (hasKey === Object.hasOwn(body, "message_id")) throw invalidMessage(hasKey ? "idempotency_key" : "message_id");
  const target = hasKey
    ? { key: requireKey(body.idempotency_key, "idempotency_key") }
    : { messageId: parseMessageId(body.message_id) };
  if (!isUuid(sessionId)) throw invalidSessionId();
  return { sessionId: sessionId.toLowerCase(), target };
}

/** Parses a message id: a number, as in the `meta` event, or a string, as in an exported transcript. Throws 400 invalid_message. */
export function parseMessageId(id: unknown): bigint {
  const text = typeof id === "number" && Number.isSafeInteger(id) ? String(id) : id;
  if (typeof text !== "string" || !DECIMAL.test(text)) throw invalidMessage("message_id");
  return BigInt(text);
}
