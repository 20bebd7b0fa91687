import { RE2JS } from "re2js";
import { isDefinitions, isObject, kindOfChild, type PartKind, uncheckable } from "./keywords.ts";
import { estimatePatternSize } from "./pattern-size.ts";

/** Limit for the number of objects and arrays after references are expanded. Bounds the time to compile a schema. */
const MAX_EXPANDED_NODES = 2_000;
/** Limit of nested objects and arrays after references are expanded. */
const MAX_DEPTH = 64;
const TOO_LARGE = `it is too large when its references ($ref) are expanded, or has more than ${MAX_DEPTH} levels`;
/** Keywords that change what a reference means, and Ajv's $async, with which a check returns a promise. No tool needs them. */
const REFUSED_KEYWORDS = new Set([
  "$anchor",
  "$async",
  "$dynamicAnchor",
  "$dynamicRef",
  "$id",
  "$recursiveAnchor",
  "$recursiveRef",
]);
const MAX_NAME_PATTERN_CHARACTERS = 200;
/** Limit for the total size of a schema's patterns of names, by estimatePatternSize. */
const MAX_NAME_PATTERNS_SIZE = 4_000;
/** Keywords that do not change which values a schema accepts. */
const ANNOTATIONS = new Set([
  "$comment",
  "default",
  "deprecated",
  "description",
  "examples",
  "readOnly",
  "title",
  "writeOnly",
]);

/**
 * `author`: the tool's author reads the error, so a mistake is an error.
 * `server`: the schema of an MCP server. Keywords that Parley does not support are left out, because the server checks the arguments too.
 */
export type SchemaSource = "author" | "server";

/**
 * Returns the schema with each `$ref` replaced by the part to which it refers. Throws SchemaError if a reference is invalid, or if the result is
 * too large or too deep. A recursive schema of an author is an error. In a server's schema, a recursive part is expanded once or twice; below,
 * any value of its type is valid.
 */
export function expandReferences(root: Record<string, unknown>, source: SchemaSource): Record<string, unknown> {
  if (source === "author") return expand(root, source, 0);
  try {
    return expand(root, source, 1);
  } catch {
    return expand(root, source, 0);
  }
}

/** @param maxReentries how often a part may contain itself */
function expand(root: Record<string, unknown>, source: SchemaSource, maxReentries: number): Record<string, unknown> {
  let nodes = 0;
  const isSupported = createPatternCheck();

  /** @param ancestors the parts of `root` that contain this part, after expansion */
  const visit = (part: unknown, kind: PartKind, ancestors: readonly object[]): unknown => {
    if (typeof part !== "object" || part === null) return part;
    if (++nodes > MAX_EXPANDED_NODES || ancestors.length >= MAX_DEPTH) throw uncheckable(TOO_LARGE);
    const inner = [...ancestors, part];
    if (Array.isArray(part)) return part.map((each) => visit(each, kind === "data" ? "data" : "schema", inner));
    const isSchema = kind === "schema";
    const entries = Object.entries(
      isSchema ? prepareKeywords(part as Record<string, unknown>, source, isSupported) : part,
    )
      // Visits an author's definitions only to check them.
      .filter(([key]) => source === "author" || !isDefinitions(kind, key))
      .map(([key, value]): [string, unknown] => [key, visit(value, kindOfChild(kind, key), inner)])
      .filter(([key]) => !isDefinitions(kind, key));
    const { $ref: reference } = part as { $ref?: unknown };
    if (!isSchema || typeof reference !== "string") return Object.fromEntries(entries);
    const siblings = Object.fromEntries(entries.filter(([key]) => key !== "$ref"));
    return combine(siblings, visitTarget(findReferenced(root, reference), inner));
  };

  const visitTarget = (target: unknown, ancestors: readonly object[]): unknown => {
    if (ancestors.filter((each) => each === target).length <= maxReentries) return visit(target, "schema", ancestors);
    if (source === "author") throw uncheckable("it is recursive");
    const { type, description } = target as Record<string, unknown>;
    return { ...(typeof type === "string" && { type }), ...(typeof description === "string" && { description }) };
  };

  return visit(root, "schema", []) as Record<string, unknown>;
}

/** Returns a schema that accepts what both the referenced schema and the reference's siblings accept. */
function combine(siblings: Record<string, unknown>, target: unknown): unknown {
  if (isObject(target) && Object.keys(siblings).every((key) => ANNOTATIONS.has(key))) return { ...target, ...siblings };
  const { allOf } = siblings;
  return { ...siblings, allOf: [...(Array.isArray(allOf) ? allOf : []), target] };
}

function prepareKeywords(
  schema: Record<string, unknown>,
  source: SchemaSource,
  isSupported: (pattern: string) => boolean,
): Record<string, unknown> {
  const refused = Object.keys(schema).filter((key) => REFUSED_KEYWORDS.has(key) && typeof schema[key] !== "object");
  if (source === "author") {
    if (refused[0] !== undefined) throw uncheckable(`it must not contain ${refused[0]}`);
    return schema;
  }
  const kept = Object.entries(schema).filter(([key, value]) => !refused.includes(key) && !isAbsent(key, value));
  return withoutUnsupportedPatterns(modernise(Object.fromEntries(kept)), isSupported);
}

/** Without the patterns of its fields' names, it is unknown which other fields the schema forbids. */
function withoutUnsupportedPatterns(
  schema: Record<string, unknown>,
  isSupported: (pattern: string) => boolean,
): Record<string, unknown> {
  const { patternProperties, additionalProperties: _, unevaluatedProperties: __, ...rest } = schema;
  return Object.keys(patternProperties ?? {}).every(isSupported) ? schema : rest;
}

/**
 * Returns a check whether RE2 supports a pattern of fields' names. It refuses large patterns, and compiles each pattern once, because a definition
 * with patterns may be used hundreds of times.
 */
function createPatternCheck(): (pattern: string) => boolean {
  const known = new Map<string, boolean>();
  let size = 0;
  const check = (pattern: string) => {
    size += estimatePatternSize(pattern);
    if (pattern.length > MAX_NAME_PATTERN_CHARACTERS || size > MAX_NAME_PATTERNS_SIZE) return false;
    try {
      RE2JS.compile(RE2JS.translateRegExp(pattern));
      return true;
    } catch {
      return false;
    }
  };
  return (pattern) => {
    const result = known.get(pattern) ?? check(pattern);
    known.set(pattern, result);
    return result;
  };
}

/** Whether a server sent null for a keyword that it does not use, as servers written in Go do for `required`. */
function isAbsent(key: string, value: unknown): boolean {
  return value === null && !["const", "default"].includes(key);
}

/** Replaces keywords of older drafts and of OpenAPI. */
function modernise(schema: Record<string, unknown>): Record<string, unknown> {
  const { items, additionalItems, exclusiveMinimum, exclusiveMaximum, nullable, ...rest } = schema;
  return {
    ...rest,
    ...(Array.isArray(items)
      ? { prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) }
      : items !== undefined && { items }),
    ...moderniseBound("minimum", "exclusiveMinimum", rest.minimum, exclusiveMinimum),
    ...moderniseBound("maximum", "exclusiveMaximum", rest.maximum, exclusiveMaximum),
    ...(nullable === true && typeof rest.type === "string" && { type: [rest.type, "null"] }),
  };
}

/** In draft 4, `exclusiveMinimum` is a boolean that changes the meaning of `minimum`. */
function moderniseBound(bound: string, exclusive: string, value: unknown, isExclusive: unknown): object {
  if (typeof isExclusive !== "boolean") return isExclusive === undefined ? {} : { [exclusive]: isExclusive };
  return isExclusive && value !== undefined ? { [bound]: undefined, [exclusive]: value } : {};
}

/** Returns the part of a schema at a JSON pointer such as `#/$defs/address`. Throws if it has no such part. */
function findReferenced(root: unknown, reference: string): unknown {
  const [start, ...steps] = reference.split("/");
  const names = steps.map(decodePointerStep);
  const part = names.reduce<unknown>(
    (outer, name) =>
      name !== undefined && typeof outer === "object" && outer !== null && Object.hasOwn(outer, name)
        ? (outer as Record<string, unknown>)[name]
        : undefined,
    root,
  );
  if (start !== "#" || part === undefined)
    throw uncheckable(`$ref must name a part of the schema, as in #/$defs/address, not ${reference}`);
  return part;
}

/** Returns undefined if the step has an invalid percent-encoding. */
function decodePointerStep(step: string): string | undefined {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}
