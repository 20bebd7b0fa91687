import type { OpenTurnRequest } from "@parley/rpc/conversation";
import { invalidArgument, isLongerThan, isUuid } from "@parley/service-kit";

const MAX_MESSAGE_CHARACTERS = 4_000;
/** The length of a SHA-256 hash. */
const HASH_BYTES = 32;
const SOURCES = ["widget", "playground"];

/**
 * Throws invalid_argument if a field is invalid. Does not check whether the workspace and the bot exist, nor whether jsonb can store
 * visitor_metadata.
 */
export function requireValidTurnRequest(request: OpenTurnRequest): void {
  const { turnId, edgeId, sessionId, source, message, visitorId, referrer, userAgent, visitorMetadata } = request;
  for (const [name, id] of Object.entries({ turn_id: turnId, edge_id: edgeId, session_id: sessionId })) {
    if (!isUuid(id)) throw invalidArgument(`${name} must be a UUID`);
  }
  if (!SOURCES.includes(source)) throw invalidArgument(`source must be one of ${SOURCES.join(", ")}`);
  if (message === "" || isLongerThan(message, MAX_MESSAGE_CHARACTERS))
    throw invalidArgument(`message must have 1 to ${MAX_MESSAGE_CHARACTERS} characters`);
  for (const [name, text] of Object.entries({ message, visitor_id: visitorId, referrer, user_agent: userAgent })) {
    if (text.includes("\0")) throw invalidArgument(`${name} must not contain NUL`);
  }
  const hasHashes = request.keyHash.length === HASH_BYTES && request.requestHash.length === HASH_BYTES;
  if (!hasHashes && request.keyHash.length + request.requestHash.length > 0)
    throw invalidArgument(`key_hash and request_hash must both have ${HASH_BYTES} bytes or both be empty`);
  if (visitorMetadata !== "" && !isJsonObject(visitorMetadata))
    throw invalidArgument("visitor_metadata must be a JSON object");
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
