import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { RE2JS } from "re2js";

const MAX_SCHEMA_CHARACTERS = 16 * 1024;

/** The parsed JSON Schema of a tool's arguments. */
export type ToolParameters = {
  /** The schema to send to a model. */
  schema: Record<string, unknown>;
  /** Returns an error message for the model that sent the arguments; undefined if they are valid. */
  findProblem(values: unknown): string | undefined;
};

/**
 * Parses the JSON Schema of a tool's arguments. An object accepts only the fields that the schema describes, unless the schema permits
 * other fields, because a visitor can make a model send any field. Throws an Error whose message is shown to the author of the tool.
 */
export function parseParameters(text: string): ToolParameters {
  if (text.length > MAX_SCHEMA_CHARACTERS)
    throw new Error(`parameters must have at most ${MAX_SCHEMA_CHARACTERS} characters`);
  // `$schema`, the version of JSON Schema, is ignored: the keywords that tools use are the same in all versions.
  const { $schema: _, ...schema } = parseObject(text);
  if (schema.type !== "object") throw new Error('parameters must be a JSON Schema of "type": "object"');
  const ajv = new Ajv2020({ strict: false, validateFormats: false, inlineRefs: false, code: { regExp } });
  const validate = compile(ajv, { unevaluatedProperties: false, ...forbidOtherNestedFields(schema) });
  const describe = (error: ErrorObject) => {
    const field: unknown = error.params.unevaluatedProperty ?? error.params.additionalProperty;
    return ajv.errorsText([error], { dataVar: "arguments" }) + (typeof field === "string" ? `: ${field}` : "");
  };
  return {
    schema,
    findProblem: (values) => (validate(values) ? undefined : (validate.errors ?? []).map(describe).join(", ")),
  };
}

/**
 * Returns the schema with `unevaluatedProperties: false` in each field or item that describes its fields and has no rule for other fields.
 */
function forbidOtherNestedFields(schema: Record<string, unknown>): Record<string, unknown> {
  const { properties, items } = schema;
  const closed = { ...schema };
  if (isObject(properties))
    closed.properties = Object.fromEntries(
      Object.entries(properties).map(([name, field]) => [name, forbidOtherFields(field)]),
    );
  if (isObject(items)) closed.items = forbidOtherFields(items);
  return closed;
}

function forbidOtherFields(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const closed = forbidOtherNestedFields(schema);
  return isObject(schema.properties) ? { unevaluatedProperties: false, ...closed } : closed;
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

function compile(ajv: Ajv2020, schema: Record<string, unknown>) {
  try {
    return ajv.compile(schema);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "unknown error";
    throw new Error(`parameters are not a JSON Schema that can be checked: ${reason}`, { cause });
  }
}

// Matches a schema's `pattern` in linear time, because a visitor can make a model send any argument.
function regExp(pattern: string): Pick<RegExp, "test"> & { toString: () => string } {
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  // Ajv deduplicates patterns by toString().
  return { test: (text) => compiled.test(text), toString: () => pattern };
}
// Ajv's interface for regular expression engines requires this property.
regExp.code = "regExp";
