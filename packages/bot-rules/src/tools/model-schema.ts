import { isObject, SchemaError } from "./keywords.ts";

type Schema = Record<string, unknown>;

/** Strict providers limit how deeply a schema may be nested. */
const MAX_LEVELS = 10;
/** Bounds the time: alternatives within alternatives repeat the schema around them. */
const MAX_PARTS = 5_000;
/** Anthropic refuses a request if a field of a tool has another name. */
const FIELD_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const MAX_NOTE_CHARACTERS = 200;

const TYPES = ["object", "array", "string", "number", "integer", "boolean"] as const;
type Type = (typeof TYPES)[number];

/** Keywords that apply to values of one type, to infer a type that the schema does not name. */
const TYPE_BY_KEYWORD: ReadonlyMap<string, Type> = new Map([
  ...["properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties"].map(
    (keyword): [string, Type] => [keyword, "object"],
  ),
  ...["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"].map((keyword): [string, Type] => [
    keyword,
    "array",
  ]),
  ...["minLength", "maxLength", "pattern", "format"].map((keyword): [string, Type] => [keyword, "string"]),
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"].map((keyword): [string, Type] => [
    keyword,
    "number",
  ]),
]);

/** Keywords with a number that every provider accepts. */
const NUMERIC_KEYWORDS: Readonly<Record<Type, readonly string[]>> = {
  object: [],
  array: ["minItems", "maxItems"],
  string: ["minLength", "maxLength"],
  number: ["minimum", "maximum"],
  integer: ["minimum", "maximum"],
  boolean: [],
};

/** Keywords that some providers refuse. The description states them instead. */
const NOTED_KEYWORDS: ReadonlyMap<string, string> = new Map([
  ["format", "Format"],
  ["pattern", "Pattern"],
  ["exclusiveMinimum", "Greater than"],
  ["exclusiveMaximum", "Less than"],
  ["multipleOf", "Multiple of"],
  ["default", "Default"],
]);

const OBJECT: Schema = { type: "object", properties: {}, required: [] };
/** The schema of any value, because some providers refuse a schema without a type. */
const ANY: Schema = {
  anyOf: [
    { type: "string" },
    { type: "number" },
    { type: "boolean" },
    OBJECT,
    { type: "array", items: { type: "string" } },
  ],
};

/**
 * Returns the schema of a tool's arguments that every provider accepts, from a schema without references. It uses only `type`, `description`,
 * `properties`, `required`, `items`, `enum`, `anyOf`, the format `date-time` and limits of numbers, lengths and items. It may accept more than
 * the original, which the arguments are checked against. Throws SchemaError if the arguments are not an object, or if a required field has a
 * name that providers refuse.
 */
export function toModelSchema(schema: Schema): Schema {
  const merged = mergeAlternatives(mergeAllOf(schema));
  const types = listTypes(merged);
  if (types.length > 0 && !types.includes("object")) throw new SchemaError("the arguments of a tool must be an object");
  return toTypedSchema(merged, "object", { level: 0, counter: { parts: 0 } });
}

/** `parts` counts the schemas of the whole walk. */
type Walk = { level: number; counter: { parts: number } };

function descend({ level, counter }: Walk): Walk {
  if (++counter.parts > MAX_PARTS) throw new SchemaError("parameters have too many combined alternatives");
  return { level: level + 1, counter };
}

/** Returns undefined if no value is valid. */
function toSchema(schema: unknown, walk: Walk): Schema | undefined {
  if (schema === false) return undefined;
  if (!isObject(schema)) return ANY;
  const merged = mergeAllOf(schema);
  const alternatives = listAlternatives(merged);
  if (alternatives.length > 0 && walk.level < MAX_LEVELS && !alternatives.every(addsRequiredOnly)) {
    const { anyOf: _, oneOf: __, description, ...base } = merged;
    const options = alternatives.flatMap((each) => toOptions(mergeTwo(each, base), walk));
    return withDescription(toAnyOf(options), describe(typeof description === "string" ? { description } : {}, []));
  }
  const flat = mergeAlternatives(merged);
  const types = listTypes(flat);
  if (types.length === 0) return withDescription(ANY, describe(flat, NOTED));
  return types.length === 1
    ? toTypedSchema(flat, types[0] as Type, walk)
    : toAnyOf(types.map((type) => toTypedSchema(flat, type, walk)));
}

/** Returns the alternatives of a schema as one list, because some providers refuse `anyOf` within `anyOf`. */
function toOptions(schema: unknown, walk: Walk): Schema[] {
  if (isNullOnly(schema)) return [];
  const option = toSchema(schema, descend(walk));
  if (option === undefined) return [];
  return Array.isArray(option.anyOf) && option.description === undefined ? (option.anyOf as Schema[]) : [option];
}

function toAnyOf(options: readonly Schema[]): Schema {
  const distinct = [...new Map(options.map((each) => [JSON.stringify(each), each])).values()];
  if (distinct.length === 0) return { type: "string" };
  return distinct.length === 1 ? (distinct[0] as Schema) : { anyOf: distinct };
}

const NOTED = [...NOTED_KEYWORDS.keys()];

function toTypedSchema(schema: Schema, type: Type, walk: Walk): Schema {
  const limits = NUMERIC_KEYWORDS[type].filter((keyword) => Number.isFinite(schema[keyword]));
  const isTime = type === "string" && schema.format === "date-time";
  const notes = NOTED.filter((keyword) => !(isTime && keyword === "format"));
  const values = type === "object" || type === "array" ? [] : listValues(schema);
  const isListable = type === "string" && values.length > 0 && values.every(isPlainText);
  return {
    type,
    ...describe(schema, notes, isListable ? [] : values),
    ...(isListable && { enum: values }),
    ...(isTime && { format: "date-time" }),
    ...Object.fromEntries(limits.map((keyword) => [keyword, schema[keyword]])),
    ...(type === "object" && toFields(schema, walk)),
    ...(type === "array" && { items: toItems(schema, walk) }),
  };
}

/** Leaves out an optional field with a name that providers refuse. */
function toFields({ properties, required }: Schema, walk: Walk): Schema {
  if (walk.level >= MAX_LEVELS) return { properties: {}, required: [] };
  const described = isObject(properties) ? properties : {};
  const requiredNames = [
    ...new Set(Array.isArray(required) ? required.filter((each) => typeof each === "string") : []),
  ];
  const invalid = requiredNames.find((name) => !FIELD_NAME.test(name));
  if (invalid !== undefined)
    throw new SchemaError(
      `the name of the required field ${JSON.stringify(invalid)} must have at most 64 characters of A-Z a-z 0-9 _ . -`,
    );
  const names = [...new Set([...Object.keys(described), ...requiredNames])].filter((name) => FIELD_NAME.test(name));
  const fields = names.flatMap((name): [string, Schema][] => {
    const field = toSchema(Object.hasOwn(described, name) ? described[name] : true, descend(walk));
    return field === undefined ? [] : [[name, field]];
  });
  const kept = Object.fromEntries(fields);
  return { properties: kept, required: requiredNames.filter((name) => Object.hasOwn(kept, name)) };
}

function toItems({ items, prefixItems }: Schema, walk: Walk): Schema {
  if (walk.level >= MAX_LEVELS) return { type: "string" };
  const first = Array.isArray(prefixItems) ? prefixItems : [];
  const all = items === undefined || items === false ? first : [...first, items];
  return all.length === 0 ? ANY : toAnyOf(all.flatMap((each) => toOptions(each, walk)));
}

/** Merges `allOf` into the schema. */
function mergeAllOf(schema: Schema): Schema {
  const { allOf, ...rest } = schema;
  if (!Array.isArray(allOf)) return schema;
  return allOf.filter(isObject).reduce<Schema>((merged, each) => mergeTwo(merged, mergeAllOf(each)), rest);
}

/** Merges the alternatives of an object into one object. A field is required if it is required in every alternative. */
function mergeAlternatives(schema: Schema): Schema {
  const alternatives = listAlternatives(schema).map(mergeAllOf);
  const { anyOf: _, oneOf: __, ...base } = schema;
  if (alternatives.length === 0) return base;
  const objects = alternatives.map((each) => mergeAlternatives(each)).filter((each) => !isNullOnly(each));
  const names = new Set(objects.flatMap(({ properties }) => (isObject(properties) ? Object.keys(properties) : [])));
  const properties = Object.fromEntries([...names].map((name) => [name, mergeFields(objects, name)]));
  const [first = [], ...others] = objects.map(({ required }) => (Array.isArray(required) ? required : []));
  const required = first.filter((name) => others.every((each) => each.includes(name)));
  const types = [...new Set(objects.flatMap(listTypes))];
  return mergeTwo(base, {
    ...(types.length > 0 && { type: types }),
    ...(names.size > 0 && { properties }),
    ...(required.length > 0 && { required }),
  });
}

function mergeFields(objects: readonly Schema[], name: string): unknown {
  const fields = objects.flatMap(({ properties }) =>
    isObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [],
  );
  const values = fields.map((each) => (isObject(each) ? listValues(each) : []));
  // The field that tells alternatives apart has one text in each of them.
  if (values.every((each) => each.length > 0 && each.every(isPlainText)))
    return { ...(fields[0] as Schema), const: undefined, type: "string", enum: [...new Set(values.flat())] };
  return fields.length === 1 ? fields[0] : { anyOf: fields };
}

/** Returns a schema with the keywords of both. Of a keyword in both, uses that of `one`, except for fields. */
function mergeTwo(one: unknown, other: Schema): Schema {
  if (!isObject(one)) return other;
  const merged: Schema = { ...other, ...one };
  if (isObject(one.properties) && isObject(other.properties)) {
    const own = one.properties;
    const fields = Object.entries(other.properties).map(([name, field]) => [
      name,
      Object.hasOwn(own, name) ? mergeField(own[name], field) : field,
    ]);
    merged.properties = { ...own, ...Object.fromEntries(fields) };
  }
  if (Array.isArray(one.required) && Array.isArray(other.required))
    merged.required = [...new Set([...one.required, ...other.required])];
  return merged;
}

function mergeField(one: unknown, other: unknown): unknown {
  return isObject(one) && isObject(other) ? mergeTwo(one, other) : one;
}

function listAlternatives({ anyOf, oneOf }: Schema): Schema[] {
  return [anyOf, oneOf].flatMap((each) => (Array.isArray(each) ? each.filter(isObject) : []));
}

/** Whether an alternative only requires fields that the schema beside it describes. */
function addsRequiredOnly(alternative: Schema): boolean {
  return Object.keys(alternative).every((keyword) => ["required", "not", "title", "description"].includes(keyword));
}

function isNullOnly(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  const { type } = schema;
  return type === "null" || (Array.isArray(type) && type.length === 1 && type[0] === "null") || schema.const === null;
}

/** Returns the types that a schema names, or else those that its keywords or values imply. */
function listTypes(schema: Schema): Type[] {
  const { type } = schema;
  const named = (Array.isArray(type) ? type : [type]).filter((each): each is Type => TYPES.includes(each as Type));
  if (named.length > 0) return [...new Set(named)];
  const implied = Object.keys(schema).flatMap((keyword) => TYPE_BY_KEYWORD.get(keyword) ?? []);
  const [first] = implied;
  if (first !== undefined) return [first];
  return [...new Set(listValues(schema).flatMap((value) => TYPES.find((each) => each === typeof value) ?? []))];
}

/** Returns the values of `enum` or `const` without null. */
function listValues(schema: Schema): unknown[] {
  const values = Array.isArray(schema.enum) ? schema.enum : schema.const === undefined ? [] : [schema.const];
  return values.filter((each) => each !== null);
}

/** Whether a value may be in the `enum` of every provider. */
function isPlainText(value: unknown): boolean {
  return typeof value === "string" && value !== "" && value.isWellFormed();
}

/** Returns the description with notes about keywords and values that the schema cannot have. */
function describe(schema: Schema, keywords: readonly string[], values: readonly unknown[] = []): Schema {
  const { description, title } = schema;
  const text = [description, title].find((each) => typeof each === "string" && each.trim() !== "");
  const noted = keywords.filter((keyword) => schema[keyword] !== undefined && schema[keyword] !== null);
  const notes = [
    ...noted.map((keyword) => `${NOTED_KEYWORDS.get(keyword)}: ${toNote(schema[keyword])}.`),
    ...(values.length > 0 ? [`One of: ${toNote(values)}.`] : []),
  ];
  const parts = [...(text === undefined ? [] : [(text as string).trim()]), ...notes];
  return parts.length === 0 ? {} : { description: parts.join(" ").toWellFormed() };
}

function withDescription(schema: Schema, { description }: Schema): Schema {
  return description === undefined ? schema : { ...schema, description };
}

function toNote(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value).replace(/^\[|\]$/g, "");
  return text.length > MAX_NOTE_CHARACTERS ? `${text.slice(0, MAX_NOTE_CHARACTERS).toWellFormed()}…` : text;
}
