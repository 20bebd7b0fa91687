import { Ajv2020 } from "ajv/dist/2020.js";
import { RE2JS } from "re2js";

const MAX_SCHEMA_CHARACTERS = 16 * 1024;

/** What a tool's arguments may be. */
export type Parameters = {
  /** The schema as a model is shown it. */
  schema: Record<string, unknown>;
  /** What is wrong with arguments, for the model that gave them; undefined when nothing is. */
  problemWith(values: unknown): string | undefined;
};

/** Reads the JSON Schema of a tool's arguments. Throws an Error with a sentence fit for whoever wrote it. */
export function readParameters(text: string): Parameters {
  if (text.length > MAX_SCHEMA_CHARACTERS)
    throw new Error(`parameters must have at most ${MAX_SCHEMA_CHARACTERS} characters`);
  // Which version of the standard it is written for makes no difference to what tools use of it.
  const { $schema: _, ...schema } = parseObject(text);
  if (schema.type !== "object") throw new Error('parameters must be a JSON Schema of "type": "object"');
  const ajv = new Ajv2020({ strict: false, validateFormats: false, inlineRefs: false, code: { regExp } });
  const validate = compile(ajv, schema);
  return {
    schema,
    problemWith: (values) => (validate(values) ? undefined : ajv.errorsText(validate.errors, { dataVar: "arguments" })),
  };
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Error("parameters must be JSON", { cause });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new Error("parameters must be a JSON object");
}

function compile(ajv: Ajv2020, schema: Record<string, unknown>) {
  try {
    return ajv.compile(schema);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "not understood";
    throw new Error(`parameters are no JSON Schema that can be checked: ${reason}`, { cause });
  }
}

// A schema's `pattern` is matched against what a model was talked into: in linear time only.
function regExp(pattern: string): Pick<RegExp, "test"> & { toString: () => string } {
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  // Ajv takes two that read alike for one.
  return { test: (text) => compiled.test(text), toString: () => pattern };
}
regExp.code = "regExp";
