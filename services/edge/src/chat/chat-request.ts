import { isLongerThan, isUuid } from "@parley/service-kit";
import { badRequest, invalidMessage, isBlank, isObject, type JsonObject, parseJsonObject } from "../http/index.ts";

/**
 * Maximum body size of chat and playground requests. It has room for
 * - a message of 70,000 emoji in UTF-8 (280,000 bytes) and the longest other fields, so that a message that is far too long gets
 *   message_too_long and not payload_too_large;
 * - every valid request with all its strings escaped as \uXXXX, as some JSON encoders write them.
 */
export const MAX_TURN_BODY_BYTES = 300 * 1024;
const MAX_MESSAGE_CHARACTERS = 4_000;
export const MAX_VISITOR_ID_CHARACTERS = 1_024;
const MAX_METADATA_BYTES = 16 * 1024;

export type ChatRequest = {
  publicKey: string;
  /** Lower case. */
  sessionId: string;
  message: string;
  /** Empty if absent. */
  visitorId: string;
  /** The text of a JSON object; empty if absent. */
  visitorMetadata: string;
};

export type PlaygroundRequest = {
  botSlug: string;
  sessionId: string;
  message: string;
  visitorMetadata: string;
};

/** Parses the body of POST /api/chat/. Throws the contract's 400s in the contract's order: JSON, fields, length, UUID. */
export function parseChatRequest(bytes: Uint8Array | undefined): ChatRequest {
  const body = parseJsonObject(bytes);
  const publicKey = readRequiredText(body, "public_key");
  const visitorId = readOptionalText(body, "visitor_id", MAX_VISITOR_ID_CHARACTERS);
  return { publicKey, visitorId, ...parseTurnFields(body) };
}

export function parsePlaygroundRequest(bytes: Uint8Array | undefined): PlaygroundRequest {
  const body = parseJsonObject(bytes);
  const botSlug = readRequiredText(body, "bot_slug");
  return { botSlug, ...parseTurnFields(body) };
}

/**
 * Checks the fields' types and the metadata first, then the message's length and the session id's format. The caller must check its own
 * fields before it calls this.
 */
function parseTurnFields(body: JsonObject) {
  const sessionId = readText(body, "session_id");
  const message = readRequiredText(body, "message");
  const visitorMetadata = metadataText(body.visitor_metadata);
  if (isLongerThan(message, MAX_MESSAGE_CHARACTERS)) throw badRequest("message_too_long", "message");
  if (!isUuid(sessionId)) throw invalidSessionId();
  return { sessionId: sessionId.toLowerCase(), message, visitorMetadata };
}

export const invalidSessionId = () => badRequest("invalid_session_id", "session_id");

function readText(body: JsonObject, name: string): string {
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  if (typeof value !== "string") throw invalidMessage(name);
  return value;
}

export function readRequiredText(body: JsonObject, name: string): string {
  const text = readText(body, name);
  if (isBlank(text)) throw invalidMessage(name);
  return text;
}

export function readOptionalText(body: JsonObject, name: string, maxCharacters: number): string {
  if (!Object.hasOwn(body, name)) return "";
  const text = readText(body, name);
  if (isLongerThan(text, maxCharacters)) throw invalidMessage(name);
  return text;
}

function metadataText(value: unknown): string {
  if (value === undefined) return "";
  if (!isObject(value) || !hasOnlySafeNumbers(value)) throw invalidMessage("visitor_metadata");
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) > MAX_METADATA_BYTES) throw invalidMessage("visitor_metadata");
  return text;
}

/** Whether all numbers are within ±(2^53 - 1). JSON.parse rounds larger integers, and makes numbers beyond a double's range infinite. */
function hasOnlySafeNumbers(value: unknown): boolean {
  if (typeof value === "number") return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return typeof value !== "object" || value === null || Object.values(value).every(hasOnlySafeNumbers);
}
