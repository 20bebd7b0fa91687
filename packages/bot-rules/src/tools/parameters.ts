import { isLongerThan } from "@parley/service-kit";
import { Ajv2020, type ErrorObject, type Options } from "ajv/dist/2020.js";
import { RE2JS } from "re2js";

const MAX_SCHEMA_CHARACTERS = 16 * 1024;
/** Limit for the number of objects and arrays after references are expanded. A schema without references cannot exceed it. */
const MAX_EXPANDED_NODES = MAX_SCHEMA_CHARACTERS / 2;
/** Limit for the total size of a schema's compiled patterns, in instructions. The llm-proxy compiles them again for every reply. */
const MAX_PATTERNS_SIZE = 2_000;
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

export type ToolParameters = {
  /** The schema to send to a model. */
  schema: Record<string, unknown>;
  /** Returns an error message for the model that sent the arguments; undefined if they are valid. */
  findProblem(values: unknown): string | undefined;
};

/**
 * Parses the JSON Schema of a tool's arguments. A visitor can make a model send any field, so an object accepts only the fields that the
 * schema describes, unless the schema permits other fields. Throws an Error whose message is shown to the author of the tool.
 */
export function parseParameters(text: string): ToolParameters {
  if (isLongerThan(text, MAX_SCHEMA_CHARACTERS))
    throw new Error(`parameters must have at most ${MAX_SCHEMA_CHARACTERS} characters`);
  // Ignores the root's `$id`, which is only a name, and `$schema`: the keywords that tools use are the same in all versions of JSON Schema.
  const { $schema: _, $id: __, ...schema } = parseObject(text);
  if (schema.type !== "object") throw new Error('parameters must be a JSON Schema of "type": "object"');
  requireCheckable(schema);
  const strictSchema = { unevaluatedProperties: false, ...(forbidOtherNestedFields(schema, schema) as object) };
  const validate = compile(strictSchema);
  const describe = (error: ErrorObject) => {
    const field: unknown = error.params.unevaluatedProperty ?? error.params.additionalProperty;
    return (
      schemaValidator.errorsText([error], { dataVar: "arguments" }) + (typeof field === "string" ? `: ${field}` : "")
    );
  };
  return {
    schema,
    findProblem: (values) => (validate(values) ? undefined : (validate.errors ?? []).map(describe).join(", ")),
  };
}

/**
 * Throws if a schema contains a refused keyword or an invalid reference, is recursive, or is too large when its references are expanded.
 * Without the limit, each level of a schema could refer twice to the next one, and checking the arguments would take exponential time.
 */
function requireCheckable(root: Record<string, unknown>): void {
  const pending: { part: object; kind: PartKind }[] = [{ part: root, kind: "schema" }];
  for (let nodes = 0; ; nodes++) {
    const next = pending.pop();
    if (next === undefined) return;
    if (nodes > MAX_EXPANDED_NODES)
      throw uncheckable("it is recursive, or too large when its references ($ref) are expanded");
    const { part, kind } = next;
    for (const [key, value] of Object.entries(part) as [string, unknown][]) {
      if (kind === "schema" && typeof value !== "object" && REFUSED_KEYWORDS.has(key))
        throw uncheckable(`it must not contain ${key}`);
      const isReference = kind === "schema" && key === "$ref" && typeof value === "string";
      const child = isReference ? findReferenced(root, value) : value;
      if (typeof child === "object" && child !== null) pending.push({ part: child, kind: kindOfChild(kind, key) });
    }
  }
}

/** `schema`: a schema or a list of schemas. `map`: schemas by name. `data`: a value in which keywords have no meaning. */
type PartKind = "schema" | "map" | "data";

function kindOfChild(kind: PartKind, key: string): PartKind {
  if (kind !== "schema") return kind === "map" ? "schema" : "data";
  if (DATA_KEYWORDS.has(key)) return "data";
  return FIELD_MAPS.has(key) || SCHEMA_MAPS.has(key) ? "map" : "schema";
}

/** Returns the part of a schema at a JSON pointer such as `#/$defs/address`. Throws if it has no such part. */
function findReferenced(root: unknown, reference: string): unknown {
  const [start, ...steps] = reference.split("/");
  const names = steps.map(decodePointerStep);
  const part = names.reduce<unknown>(
    (outer, name) => (name === undefined ? undefined : (outer as Record<string, unknown> | undefined)?.[name]),
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

/** Keywords that hold schemas by the name or pattern of a field. */
const FIELD_MAPS = new Set(["properties", "patternProperties"]);
/** `dependentSchemas` and its older form: schemas that apply if the value has the named field. */
const DEPENDENT_SCHEMAS = ["dependentSchemas", "dependencies"];
/** Other keywords that hold schemas by name. */
const SCHEMA_MAPS = new Set(["$defs", "definitions", ...DEPENDENT_SCHEMAS]);
const DATA_KEYWORDS = new Set(["const", "default", "enum", "examples"]);
/** Keywords that hold one schema for all other fields, or for all items. */
const NESTED_SCHEMAS = new Set(["items", "additionalProperties"]);
/** Keywords that hold lists of schemas for the same value. */
const COMBINED_SCHEMAS = new Set(["allOf", "anyOf", "oneOf"]);
/** Keywords that hold one schema for the same value. `if` and `not` are absent: a stricter schema would change what they mean. */
const CONDITIONAL_SCHEMAS = new Set(["then", "else"]);

/**
 * Adds `unevaluatedProperties: false` to each nested schema of a field or an item, if that schema describes fields and has no rule for other
 * fields. Does not add it to `schema` itself, because another schema may describe more fields of the same value.
 */
function forbidOtherNestedFields(schema: unknown, root: unknown): unknown {
  if (!isObject(schema)) return schema;
  const forbidBelow = (value: unknown) => forbidOtherNestedFields(value, root);
  const forbidHereAndBelow = (value: unknown) => forbidOtherFields(value, root);
  const forbidUnder = (keyword: string, value: unknown) => {
    if (FIELD_MAPS.has(keyword)) return mapFields(value, forbidHereAndBelow);
    if (SCHEMA_MAPS.has(keyword)) return mapFields(value, forbidBelow);
    if (keyword === "prefixItems") return mapItems(value, forbidHereAndBelow);
    if (COMBINED_SCHEMAS.has(keyword)) return mapItems(value, forbidBelow);
    if (NESTED_SCHEMAS.has(keyword)) return forbidHereAndBelow(value);
    return CONDITIONAL_SCHEMAS.has(keyword) ? forbidBelow(value) : value;
  };
  return Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, forbidUnder(keyword, value)]));
}

function forbidOtherFields(schema: unknown, root: unknown): unknown {
  const changed = forbidOtherNestedFields(schema, root);
  return isObject(changed) && describesFields(schema, root) ? { unevaluatedProperties: false, ...changed } : changed;
}

/** Returns whether a schema, or another one that it applies to the same value, describes fields of the value. */
function describesFields(schema: unknown, root: unknown): boolean {
  if (!isObject(schema)) return false;
  const applied: unknown[] = [...COMBINED_SCHEMAS, ...CONDITIONAL_SCHEMAS].flatMap((keyword) => schema[keyword] ?? []);
  for (const keyword of DEPENDENT_SCHEMAS)
    if (isObject(schema[keyword])) applied.push(...Object.values(schema[keyword]));
  if (typeof schema.$ref === "string") applied.push(findReferenced(root, schema.$ref));
  return (
    [...FIELD_MAPS].some((keyword) => isObject(schema[keyword])) || applied.some((each) => describesFields(each, root))
  );
}

function mapFields(value: unknown, change: (field: unknown) => unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, change(field)]));
}

function mapItems(value: unknown, change: (item: unknown) => unknown): unknown {
  return Array.isArray(value) ? value.map(change) : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Error("parameters must be JSON", { cause });
  }
  if (isObject(value)) return { ...value };
  throw new Error("parameters must be a JSON object");
}

/** Checks schemas against the JSON Schema standard. All tools share it, because compiling the standard's own schemas takes 14 ms. */
const schemaValidator = createAjv();

function compile(schema: Record<string, unknown>) {
  try {
    void schemaValidator.validateSchema(schema, true);
    // Without JSON Schema's own schemas, because the schema is already checked against them.
    return createAjv({ meta: false, validateSchema: false }).compile(schema);
  } catch (cause) {
    throw uncheckable(cause instanceof Error ? cause.message : "unknown error", { cause });
  }
}

function createAjv(options: Options = {}): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    inlineRefs: false,
    code: { regExp: createRegExp() },
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

function uncheckable(reason: string, options?: ErrorOptions): Error {
  return new Error(`parameters are not a JSON Schema that can be checked: ${reason}`, options);
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

/**
 * Returns a regular expression engine that matches in linear time, because a visitor can make a model send any argument. It throws when the
 * patterns together are too large.
 */
function createRegExp() {
  let size = 0;
  const regExp = (pattern: string): Pick<RegExp, "test"> & { toString: () => string } => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    size += compiled.programSize();
    if (size > MAX_PATTERNS_SIZE)
      throw new Error(`its patterns are too large: their total size is above ${MAX_PATTERNS_SIZE}`);
    // Ajv deduplicates patterns by toString().
    return { test: (text) => compiled.test(text), toString: () => pattern };
  };
  // Ajv's interface for regular expression engines requires this property.
  return Object.assign(regExp, { code: "regExp" });
}
