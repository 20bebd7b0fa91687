import { Failure } from "../shared/failure.ts";
import { pause } from "../shared/pause.ts";
import type { Identity } from "../shared/types.ts";

/** The API's rule for an id: 1 to 1,024 characters. PostgreSQL cannot store NUL and lone surrogates. */
const ID = /^[^\0\p{Cs}]{1,1024}$/u;
const UNSTORABLE = /[\0\p{Cs}]/u;
const MAX_METADATA_BYTES = 16 * 1024;
const MAX_METADATA_LEVELS = 32;
const TOKEN_TIMEOUT_MS = 10_000;

const warnedFields = new Set<string>();

/** Warns once about each field. Messages are sent without it. */
function drop(field: keyof Identity): undefined {
  if (!warnedFields.has(field)) {
    warnedFields.add(field);
    console.warn(`Parley: ${field} is invalid`);
  }
  return undefined;
}

/** JSON.parse rounds larger integers. */
const isExact = (value: number) => Math.abs(value) <= Number.MAX_SAFE_INTEGER;

/** Returns the visitor's id as text. Returns undefined if there is none or, with a warning, if the API would refuse it. */
export function readVisitorId({ visitorId }: Identity): string | undefined {
  if (visitorId === undefined || visitorId === "") {
    return undefined;
  }
  const text = typeof visitorId === "number" && isExact(visitorId) ? String(visitorId) : visitorId;
  return typeof text === "string" && ID.test(text) ? text : drop("visitorId");
}

const isToken = (value: unknown): value is string | null | undefined =>
  value === undefined || value === null || typeof value === "string";

/**
 * Returns the visitor's token. Returns undefined if there is none or, with a warning, if it is no text. If the page has given a function, calls it
 * and waits up to 10 s. Throws a Failure if the function fails or returns no text: without its token, the request would be another visitor's.
 * Throws the signal's reason if the signal is aborted.
 */
export async function readVisitorToken({ visitorToken }: Identity, signal: AbortSignal): Promise<string | undefined> {
  if (typeof visitorToken !== "function") {
    return isToken(visitorToken) ? visitorToken || undefined : drop("visitorToken");
  }
  let token: unknown = false;
  try {
    token = await Promise.race([visitorToken(), pause(TOKEN_TIMEOUT_MS, signal).then(() => false)]);
  } catch (error) {
    console.warn("Parley:", error);
  }
  signal.throwIfAborted();
  if (!isToken(token)) {
    drop("visitorToken");
    throw new Failure("visitor_token_failed");
  }
  return token || undefined;
}

/**
 * Returns the visitor's metadata as an object of JSON. Parses metadata that is a string. Returns undefined if there is none or, with a
 * warning, if it is no plain object or the API would refuse it.
 */
export function readMetadata({ metadata }: Identity): unknown {
  if (metadata === undefined || metadata === "") {
    return undefined;
  }
  try {
    const json = typeof metadata === "string" ? metadata : isPlainObject(metadata) && JSON.stringify(metadata);
    const value: unknown = JSON.parse(json || "");
    const bytes = new TextEncoder().encode(JSON.stringify(value)).length;
    if (isPlainObject(value) && bytes <= MAX_METADATA_BYTES && isAcceptable(value, MAX_METADATA_LEVELS)) {
      return value;
    }
  } catch {
    // The metadata is not JSON or too deep, or has a BigInt, a cycle or a getter that throws.
  }
  return drop("metadata");
}

/** Whether JSON contains the whole value: a Map or a Date, for example, would lose its content or become a string. */
function isPlainObject(value: unknown): boolean {
  return Object.prototype.toString.call(value) === "[object Object]";
}

/** Whether the API accepts a value of JSON with at most this many levels of objects and arrays. */
function isAcceptable(value: unknown, levels: number): boolean {
  if (typeof value === "string") {
    return !UNSTORABLE.test(value);
  }
  if (typeof value === "number") {
    return isExact(value);
  }
  if (typeof value !== "object" || value === null) {
    return true;
  }
  return (
    levels > 0 &&
    Object.entries(value).every(([name, member]) => !UNSTORABLE.test(name) && isAcceptable(member, levels - 1))
  );
}
