import { HttpError } from "./http-error.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A parsed JSON body whose every string can be stored: well-formed Unicode without NUL. */
export type JsonObject = Record<string, unknown>;

/**
 * Parses a request body whatever its Content-Type says. Throws 400 invalid_json unless it is UTF-8 JSON without a byte order mark,
 * and 400 invalid_message unless it is an object that can be stored.
 */
export function parseJsonObject(bytes: Uint8Array | undefined): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(bytes ?? new Uint8Array()));
  } catch (error) {
    throw new HttpError(400, "invalid_json", {}, { cause: error });
  }
  if (!isObject(value) || !isStorable(value)) throw new HttpError(400, "invalid_message");
  return value;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// PostgreSQL refuses NUL and half a surrogate pair in text and jsonb. Walked with a stack of its own: a body can be nested
// deeper than the call stack.
function isStorable(root: unknown): boolean {
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value === "string") {
      if (!isStorableText(value)) return false;
    } else if (typeof value === "object" && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        if (!isStorableText(key)) return false;
        pending.push(inner);
      }
    }
  }
  return true;
}

function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** How many levels of objects and arrays `value` has, counted no further than `limit` + 1. */
export function depthOf(value: unknown, limit: number): number {
  let level = [value];
  for (let depth = 0; depth <= limit; depth++) {
    const containers = level.filter((each) => typeof each === "object" && each !== null);
    if (containers.length === 0) return depth;
    level = containers.flatMap((each) => Object.values(each as object));
  }
  return limit + 1;
}
