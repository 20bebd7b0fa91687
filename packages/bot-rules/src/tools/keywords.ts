/** Keywords that hold schemas by the name or pattern of a field. */
export const FIELD_MAPS: ReadonlySet<string> = new Set(["properties", "patternProperties"]);
/** `dependentSchemas` and its older form: schemas that apply if the value has the named field. */
export const DEPENDENT_SCHEMAS = ["dependentSchemas", "dependencies"] as const;
const DEFINITIONS: ReadonlySet<string> = new Set(["$defs", "definitions"]);
const SCHEMA_MAPS: ReadonlySet<string> = new Set([...FIELD_MAPS, ...DEFINITIONS, ...DEPENDENT_SCHEMAS]);
const DATA_KEYWORDS: ReadonlySet<string> = new Set(["const", "default", "enum", "examples"]);

/** `schema`: a schema or a list of schemas. `map`: schemas by name. `data`: a value in which keywords have no meaning. */
export type PartKind = "schema" | "map" | "data";

export function kindOfChild(kind: PartKind, key: string): PartKind {
  if (kind !== "schema") return kind === "map" ? "schema" : "data";
  if (DATA_KEYWORDS.has(key)) return "data";
  return SCHEMA_MAPS.has(key) ? "map" : "schema";
}

export function isDefinitions(kind: PartKind, key: string): boolean {
  return kind === "schema" && DEFINITIONS.has(key);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A schema that Parley cannot use. Its message is shown to the author of the tool. */
export class SchemaError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SchemaError";
  }
}

export function uncheckable(reason: string, options?: ErrorOptions): SchemaError {
  return new SchemaError(`parameters are not a JSON Schema that can be checked: ${reason}`, options);
}
