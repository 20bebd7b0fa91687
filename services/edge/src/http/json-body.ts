import { HttpError } from "./http-error.ts";
import { shapeOf } from "./json-shape.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A parsed JSON body whose every string can be stored: well-formed Unicode without NUL. */
export type JsonObject = Record<string, unknown>;

/** The body itself and the 32 levels of visitor_metadata, the only field that may be nested. */
const MAX_LEVELS = 1 + 32;
/** The 16 KiB of visitor_metadata, if no string in it had content, and 1 KiB for the other fields. */
const MAX_STRUCTURE_BYTES = 17 * 1024;

/**
 * Parses a request body whatever its Content-Type says. Throws 400 invalid_json unless it is UTF-8 JSON without a byte order mark,
 * and 400 invalid_message unless it is an object that can be stored and within the limits above.
 */
export function parseJsonObject(bytes: Uint8Array = new Uint8Array()): JsonObject {
  // JSON.parse takes up to 50 times as long for many small values as for one string of as many bytes. So what has too many is not
  // parsed at all, not even to see whether it is JSON.
  const { levels, structureBytes } = shapeOf(bytes, MAX_STRUCTURE_BYTES);
  if (structureBytes > MAX_STRUCTURE_BYTES) throw invalidMessage();
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch (error) {
    throw new HttpError(400, "invalid_json", {}, { cause: error });
  }
  if (!isObject(value) || levels > MAX_LEVELS || !isStorable(value)) throw invalidMessage();
  return value;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A field is missing, malformed or too large. */
export function invalidMessage(): HttpError {
  return new HttpError(400, "invalid_message");
}

// PostgreSQL refuses NUL and half a surrogate pair in text and jsonb.
function isStorable(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0");
  if (Array.isArray(value)) return value.every(isStorable);
  return !isObject(value) || Object.keys(value).every((key) => isStorable(key) && isStorable(value[key]));
}
