import { badRequest, invalidMessage } from "./http-error.ts";
import { shapeOf } from "./json-shape.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The maximum body size of the stop, rating and doctor endpoints. A request with an invalid public key of thousands of characters fits, so it gets
 * invalid_api_key and not payload_too_large.
 */
export const MAX_SMALL_BODY_BYTES = 8 * 1024;

/** A parsed JSON body. All its strings are well-formed Unicode without NUL, so PostgreSQL can store them. */
type JsonObject = Record<string, unknown>;

/** One level for the body and 32 for visitor_metadata, the only nested field. */
export const MAX_LEVELS = 1 + 32;
/** Bytes that are neither white space nor string content: 16 KiB for visitor_metadata and 1 KiB for the other fields. */
export const MAX_STRUCTURE_BYTES = 17 * 1024;

/**
 * Parses a request body. Throws 400 invalid_json unless it is UTF-8 JSON without a byte order mark, and 400 invalid_message unless it is
 * an object that is within the limits above and contains only text that PostgreSQL can store.
 */
export function parseJsonObject(bytes: Uint8Array = new Uint8Array()): JsonObject {
  // JSON.parse takes up to 50 times as long for many small values as for one string of the same size. A body with too much structure
  // is therefore refused before parsing, even if it is not JSON.
  const { levels, structureBytes, excess } = shapeOf(bytes, {
    levels: MAX_LEVELS,
    structureBytes: MAX_STRUCTURE_BYTES,
  });
  if (structureBytes > MAX_STRUCTURE_BYTES) throw invalidMessage(excess);
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch (error) {
    throw badRequest("invalid_json", undefined, { cause: error });
  }
  if (!isObject(value)) throw invalidMessage();
  if (levels > MAX_LEVELS) throw invalidMessage(excess);
  for (const [name, field] of Object.entries(value))
    if (!isStorable(name) || !isStorable(field)) throw invalidMessage(name);
  return value;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value that JSON.parse has returned is an object within the limits of visitor_metadata. */
export function isVisitorMetadata(value: unknown, maxBytes: number): value is object {
  if (!isObject(value)) return false;
  const json = Buffer.from(JSON.stringify(value));
  if (json.length > maxBytes) return false;
  // Checks the levels first, because the other checks are recursive.
  const limits = { levels: MAX_LEVELS - 1, structureBytes: MAX_STRUCTURE_BYTES };
  return shapeOf(json, limits).levels <= limits.levels && isStorable(value) && hasOnlySafeNumbers(value);
}

/** Whether all numbers are within ±(2^53 - 1). JSON.parse rounds larger integers, and makes numbers beyond a double's range infinite. */
export function hasOnlySafeNumbers(value: unknown): boolean {
  if (typeof value === "number") return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return typeof value !== "object" || value === null || Object.values(value).every(hasOnlySafeNumbers);
}

/** Matches text without visible characters. Lists U+2800, the Braille blank, because Unicode classifies it as a symbol. */
const BLANK = /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

export function isBlank(text: string): boolean {
  return BLANK.test(text);
}

// PostgreSQL refuses NUL and lone surrogates in text and jsonb.
function isStorable(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0");
  if (Array.isArray(value)) return value.every(isStorable);
  return !isObject(value) || Object.keys(value).every((key) => isStorable(key) && isStorable(value[key]));
}
