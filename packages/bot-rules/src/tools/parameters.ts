import { isLongerThan } from "@parley/service-kit";
import { compileSchema, type FindProblem, requireStandardSchema } from "./compile-schema.ts";
import { expandReferences, type SchemaSource } from "./expand-references.ts";
import { forbidUndescribedFields } from "./forbid-other-fields.ts";
import { isObject, SchemaError } from "./keywords.ts";
import { toModelSchema } from "./model-schema.ts";

const MAX_SCHEMA_CHARACTERS = 16 * 1024;
/** After references are expanded. */
const MAX_MODEL_SCHEMA_CHARACTERS = 32 * 1024;
/** Limit of nested objects and arrays. JSON.stringify throws for thousands of levels. */
const MAX_SCHEMA_DEPTH = 64;

export type ToolParameters = {
  /** The schema without references. */
  schema: Record<string, unknown>;
  /** The schema to send to a model: every provider accepts it. */
  modelSchema: Record<string, unknown>;
  /** Compiles the schema to check arguments. Takes about 1 ms for a small schema and 0.2 s for the largest. Throws SchemaError. */
  compile(): FindProblem;
};

/**
 * Parses the JSON Schema of an HTTP tool's arguments. A visitor can make a model send any field, so an object accepts only the fields that the
 * schema describes, unless the schema permits other fields. Throws an Error whose message is shown to the author of the tool.
 */
export function parseParameters(text: string): ToolParameters {
  requireLength(text);
  const original = parseObject(text);
  requireLevels(original);
  if (original.type !== "object") throw new SchemaError('parameters must be a JSON Schema of "type": "object"');
  return readSchema(original, "author", forbidUndescribedFields);
}

/**
 * Reads the JSON Schema of an MCP tool's arguments. Accepts what servers send in practice, such as a recursive schema or none. The schema is
 * untrusted. Throws SchemaError if it cannot be used.
 */
export function readServerParameters(inputSchema: unknown): ToolParameters {
  const original = inputSchema === undefined || inputSchema === null || inputSchema === true ? {} : inputSchema;
  if (!isObject(original)) throw new SchemaError("parameters must be a JSON object");
  requireLevels(original);
  requireLength(JSON.stringify(original));
  return readSchema({ ...original }, "server", (schema) => schema);
}

function readSchema(
  original: Record<string, unknown>,
  source: SchemaSource,
  toCheckedSchema: (schema: Record<string, unknown>) => Record<string, unknown>,
): ToolParameters {
  // Ignores the root's `$id`, which is only a name, and `$schema`: the keywords that tools use are the same in all versions of JSON Schema.
  const { $schema: _, $id: __, ...root } = original;
  const schema = expandReferences(root, source);
  // A server's schema conforms to the standard only after keywords of older drafts are replaced.
  requireStandardSchema(source === "author" ? root : schema);
  const modelSchema = toModelSchema(schema);
  if (isLongerThan(JSON.stringify(modelSchema), MAX_MODEL_SCHEMA_CHARACTERS))
    throw new SchemaError("parameters are too large when their references ($ref) are expanded");
  return { schema, modelSchema, compile: () => compileSchema(toCheckedSchema(schema), source) };
}

function requireLength(text: string): void {
  if (isLongerThan(text, MAX_SCHEMA_CHARACTERS))
    throw new SchemaError(`parameters must have at most ${MAX_SCHEMA_CHARACTERS} characters`);
}

function requireLevels(schema: Record<string, unknown>): void {
  if (isDeeperThan(schema, MAX_SCHEMA_DEPTH))
    throw new SchemaError(`parameters must have at most ${MAX_SCHEMA_DEPTH} levels of objects and arrays`);
}

/** Uses no recursion, because an MCP server's schema can have any depth. */
function isDeeperThan(value: object, levels: number): boolean {
  let parts: unknown[] = [value];
  for (let level = 0; parts.length > 0; level++) {
    if (level === levels) return true;
    parts = parts.flatMap((part) => Object.values(part as object)).filter((each) => typeof each === "object" && each);
  }
  return false;
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new SchemaError("parameters must be JSON", { cause });
  }
  if (isObject(value)) return { ...value };
  throw new SchemaError("parameters must be a JSON object");
}
