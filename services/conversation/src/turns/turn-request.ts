import type { OpenTurnRequest } from "@parley/rpc/conversation";
import { invalidArgument } from "@parley/service-kit";

/** The length of a SHA-256 hash. */
const HASH_BYTES = 32;

/**
 * Throws invalid_argument for what the rules of the proto do not express. Does not check whether the workspace and the bot exist, nor whether jsonb can store
 * visitor_metadata.
 */
export function requireValidTurnRequest(request: OpenTurnRequest): void {
  const { keyHash, requestHash, visitorMetadata } = request;
  const hasHashes = keyHash.length === HASH_BYTES && requestHash.length === HASH_BYTES;
  if (!hasHashes && keyHash.length + requestHash.length > 0)
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
