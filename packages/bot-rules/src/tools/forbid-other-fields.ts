import { DEPENDENT_SCHEMAS, FIELD_MAPS, isObject } from "./keywords.ts";

const DEPENDENT_SCHEMA_MAPS: ReadonlySet<string> = new Set(DEPENDENT_SCHEMAS);
/** Keywords that hold one schema for all other fields, or for all items. */
const NESTED_SCHEMAS = new Set(["items", "additionalProperties"]);
/** Keywords that hold lists of schemas for the same value. */
const COMBINED_SCHEMAS = new Set(["allOf", "anyOf", "oneOf"]);
/** Keywords that hold one schema for the same value. `if` and `not` are absent: a stricter schema would change what they mean. */
const CONDITIONAL_SCHEMAS = new Set(["then", "else"]);

/**
 * Forbids the fields that the schema of a tool's arguments, without references, does not describe. In nested objects, only if their schema
 * describes fields and has no rule for other fields.
 */
export function forbidUndescribedFields(schema: Record<string, unknown>): Record<string, unknown> {
  return { unevaluatedProperties: false, ...(forbidOtherNestedFields(schema) as object) };
}

/**
 * Adds `unevaluatedProperties: false` to each nested schema of a field or an item, if that schema describes fields and has no rule for other
 * fields. Does not add it to `schema` itself, because another schema may describe more fields of the same value.
 */
function forbidOtherNestedFields(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const forbidUnder = (keyword: string, value: unknown) => {
    if (FIELD_MAPS.has(keyword)) return mapFields(value, forbidOtherFields);
    if (DEPENDENT_SCHEMA_MAPS.has(keyword)) return mapFields(value, forbidOtherNestedFields);
    if (keyword === "prefixItems") return mapItems(value, forbidOtherFields);
    if (COMBINED_SCHEMAS.has(keyword)) return mapItems(value, forbidOtherNestedFields);
    if (NESTED_SCHEMAS.has(keyword)) return forbidOtherFields(value);
    return CONDITIONAL_SCHEMAS.has(keyword) ? forbidOtherNestedFields(value) : value;
  };
  return Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, forbidUnder(keyword, value)]));
}

function forbidOtherFields(schema: unknown): unknown {
  const changed = forbidOtherNestedFields(schema);
  return isObject(changed) && describesFields(schema) ? { unevaluatedProperties: false, ...changed } : changed;
}

/** Returns whether a schema, or another one that it applies to the same value, describes fields of the value. */
function describesFields(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  const applied: unknown[] = [...COMBINED_SCHEMAS, ...CONDITIONAL_SCHEMAS].flatMap((keyword) => schema[keyword] ?? []);
  for (const keyword of DEPENDENT_SCHEMAS)
    if (isObject(schema[keyword])) applied.push(...Object.values(schema[keyword]));
  return [...FIELD_MAPS].some((keyword) => isObject(schema[keyword])) || applied.some(describesFields);
}

function mapFields(value: unknown, change: (field: unknown) => unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, change(field)]));
}

function mapItems(value: unknown, change: (item: unknown) => unknown): unknown {
  return Array.isArray(value) ? value.map(change) : value;
}
