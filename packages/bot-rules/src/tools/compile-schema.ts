import { Ajv2020, type ErrorObject, type Options } from "ajv/dist/2020.js";
import { RE2JS } from "re2js";
import type { SchemaSource } from "./expand-references.ts";
import { isObject, type SchemaError, uncheckable } from "./keywords.ts";
import { estimatePatternSize } from "./pattern-size.ts";

/** Limit for the total size of a schema's compiled patterns, in instructions. The llm-proxy compiles them again for each reply that uses them. */
const MAX_PATTERNS_SIZE = 2_000;
/** Limit for the estimate of the total size, which must not refuse patterns of MAX_PATTERNS_SIZE. */
const MAX_ESTIMATED_SIZE = 5 * MAX_PATTERNS_SIZE;
const MAX_PROBLEM_CHARACTERS = 1_000;

/** Returns an error message that names the wrong fields, for the model that sent the arguments; undefined if they are valid. */
export type FindProblem = (values: unknown) => string | undefined;

/** Checks schemas against the JSON Schema standard. All tools share it, because compiling the standard's own schemas takes 14 ms. */
const schemaValidator = createAjv("author");

/** Throws SchemaError unless the schema conforms to the JSON Schema standard. */
export function requireStandardSchema(schema: Record<string, unknown>): void {
  try {
    void schemaValidator.validateSchema(schema, true);
  } catch (cause) {
    throw toSchemaError(cause);
  }
}

/**
 * Compiles a schema that conforms to the standard. Throws SchemaError if it cannot be compiled. A pattern of an MCP server's schema that RE2
 * does not support, or that is too large, accepts any text: the server checks it.
 */
export function compileSchema(schema: Record<string, unknown>, source: SchemaSource): FindProblem {
  let validate: ReturnType<Ajv2020["compile"]>;
  try {
    // Without JSON Schema's own schemas, because the schema is already checked against them.
    validate = createAjv(source, { meta: false, validateSchema: false }).compile(schema);
  } catch (cause) {
    throw toSchemaError(cause);
  }
  return (values) => {
    if (validate(values)) return undefined;
    const problem = (validate.errors ?? []).map(describeProblem).join(", ");
    return problem.length > MAX_PROBLEM_CHARACTERS
      ? `${problem.slice(0, MAX_PROBLEM_CHARACTERS).toWellFormed()}…`
      : problem;
  };
}

function describeProblem(error: ErrorObject): string {
  const field: unknown = error.params.unevaluatedProperty ?? error.params.additionalProperty;
  return (
    schemaValidator.errorsText([error], { dataVar: "arguments" }) + (typeof field === "string" ? `: ${field}` : "")
  );
}

function toSchemaError(cause: unknown): SchemaError {
  return uncheckable(cause instanceof Error ? cause.message : "unknown error", { cause });
}

function createAjv(source: SchemaSource, options: Options = {}): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    inlineRefs: false,
    code: { regExp: createRegExp(source) },
    ...options,
  });
  // Ajv's own check compares every pair of items, which takes quadratic time.
  return ajv.removeKeyword("uniqueItems").addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    validate: createUniqueItemsCheck(),
    error: { message: "must NOT have duplicate items" },
  });
}

/** The check takes linear time. It checks each array once, even if many parts of a schema require unique items. */
function createUniqueItemsCheck(): (isRequired: boolean, items: unknown[]) => boolean {
  const known = new WeakMap<unknown[], boolean>();
  return (isRequired, items) => {
    if (!isRequired) return true;
    const isUnique = known.get(items) ?? new Set(items.map(toCanonicalJson)).size === items.length;
    known.set(items, isUnique);
    return isUnique;
  };
}

/** Returns JSON that does not depend on the order of an object's fields. */
function toCanonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    isObject(each) ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1))) : each,
  );
}

type Matcher = Pick<RegExp, "test"> & { toString: () => string };

/** Ajv deduplicates patterns by toString(). */
function toMatcher(pattern: string, test: Matcher["test"]): Matcher {
  return { test, toString: () => pattern };
}

/**
 * Returns a regular expression engine that matches in linear time, because a visitor can make a model send any argument. For an author's schema,
 * it throws when RE2 does not support a pattern or the patterns together are too large.
 */
function createRegExp(source: SchemaSource) {
  let size = 0;
  let estimatedSize = 0;
  const tooLarge = () => new Error(`its patterns are too large: their total size is above ${MAX_PATTERNS_SIZE}`);
  const compile = (pattern: string): RE2JS => {
    estimatedSize += estimatePatternSize(pattern);
    if (estimatedSize > MAX_ESTIMATED_SIZE) throw tooLarge();
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    size += compiled.programSize();
    if (size > MAX_PATTERNS_SIZE) throw tooLarge();
    return compiled;
  };
  const regExp = (pattern: string): Matcher => {
    try {
      const compiled = compile(pattern);
      return toMatcher(pattern, (text) => compiled.test(text));
    } catch (error) {
      if (source === "author") throw error;
      return toMatcher(pattern, () => true);
    }
  };
  // Ajv's interface for regular expression engines requires this property.
  return Object.assign(regExp, { code: "regExp" });
}
