import { failureFromReason } from "../failure.ts";

/** The JSON fields of an assistant message, a tool call, or a part of one. */
export type Fields = Record<string, unknown>;

const MAX_DEPTH = 32;
/** Limit of objects in an array, because each further one is compared with all of them. */
const MAX_ELEMENTS = 2_000;

/** Fields whose strings identify something. Providers send them whole, and some repeat them with each delta. */
const IDENTIFIERS: ReadonlySet<string> = new Set(["id", "type", "format", "role", "name", "object", "status"]);
/** Fields whose strings are opaque. Some providers split them between deltas, and others repeat them. */
const OPAQUE = /signature$|^data$|^encrypted/i;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Adds the fields of a delta to those of the earlier deltas. Strings are appended, objects and arrays are merged, and other values replace
 * the earlier value. Null is ignored.
 */
export function mergeFields(target: Fields, delta: Fields): void {
  for (const [name, value] of Object.entries(delta)) {
    // Assigning to `__proto__` would change the object's prototype instead of adding a field.
    if (name !== "__proto__" && value !== null) target[name] = mergeValues(name, target[name], value);
  }
}

function mergeValues(name: string, earlier: unknown, value: unknown): unknown {
  if (earlier === undefined || earlier === null) return value;
  if (typeof earlier === "string" && typeof value === "string") return mergeStrings(name, earlier, value);
  if (Array.isArray(earlier) && Array.isArray(value)) {
    for (const element of value) mergeElement(earlier, element);
  } else if (isObject(earlier) && isObject(value)) mergeFields(earlier, value);
  else return value;
  return earlier;
}

function mergeStrings(name: string, earlier: string, value: string): string {
  if (IDENTIFIERS.has(name)) return value || earlier;
  return OPAQUE.test(name) && earlier === value ? earlier : earlier + value;
}

/**
 * Adds an element of a delta's array to the element that it continues, or else at the array's end. Throws ProviderFailure if there are too many
 * objects.
 */
export function mergeElement(elements: unknown[], element: unknown): void {
  if (!isObject(element)) return void elements.push(element);
  if (elements.length > MAX_ELEMENTS) throw failureFromReason("too_large");
  const continued = findContinued(elements, element);
  if (continued === undefined) elements.push(element);
  else mergeFields(continued, element);
}

/**
 * Returns the element that a later delta's element continues: the one with its index or id. An element without both continues the last one,
 * unless that one is complete: providers send a signature or opaque data at the end.
 */
function findContinued(elements: readonly unknown[], later: Fields): Fields | undefined {
  const hasIdentity = isPresent(later.index) || isPresent(later.id);
  const candidates = elements.slice(hasIdentity ? 0 : -1).filter(isObject);
  return candidates.findLast((each) => {
    const matches = (name: string) => isPresent(later[name]) && later[name] === each[name];
    const differs = (name: string) => isPresent(later[name]) && isPresent(each[name]) && later[name] !== each[name];
    if (differs("index") || differs("id") || differs("type")) return false;
    return hasIdentity ? matches("index") || matches("id") : !isPresent(each.signature) && !isPresent(each.data);
  });
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null && value !== "";

/** Returns the approximate length of a value's JSON. Throws ProviderFailure if the value is nested too deeply. */
export function measureJson(value: unknown, depth: number = 0): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 4;
  if (depth === MAX_DEPTH) throw failureFromReason("too_large");
  let length = 2;
  for (const [name, each] of Object.entries(value)) length += name.length + measureJson(each, depth + 1);
  return length;
}
