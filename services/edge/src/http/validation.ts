import { isEmail, isUuid } from "@parley/service-kit";
import type { FastifySchemaValidationError, FastifyServerOptions } from "fastify";
import type { TObject, TObjectOptions, TSchema } from "typebox";
import { badRequest, type HttpError } from "./http-error.ts";
import { hasOnlySafeNumbers, isBlank } from "./json-body.ts";
import { parseTime } from "./time.ts";

/** The parts of a request that a route's schema describes. */
export type RequestSchema = {
  params?: TObject;
  querystring?: TObject;
  body?: TSchema;
  headers?: TObject;
};

/** The rules of the contract that JSON Schema has no keyword for. */
const KEYWORDS = [
  { keyword: "x-not-blank", type: "string" as const, validate: (_: true, text: string) => !isBlank(text) },
  {
    keyword: "x-safe-numbers",
    type: "object" as const,
    validate: (_: true, value: object) => hasOnlySafeNumbers(value),
  },
  {
    keyword: "x-max-bytes",
    type: "object" as const,
    validate: (limit: number, value: object) => Buffer.byteLength(JSON.stringify(value)) <= limit,
  },
];

/** Fastify's options for validation. A value is never changed: what the contract refuses must not be converted into something valid. */
export const VALIDATION = {
  ajv: {
    customOptions: {
      // The contract has an order of checks, which is not Ajv's. The cost is bounded, because bodies are bounded before they are parsed.
      allErrors: true,
      coerceTypes: false,
      removeAdditional: false,
      useDefaults: false,
      keywords: KEYWORDS,
      formats: { "date-or-date-time": (text: string) => parseTime(text) !== undefined },
    },
    // Without this, Ajv would also accept URNs, and addresses that the services refuse.
    onCreate: (ajv) => void ajv.addFormat("uuid", isUuid).addFormat("email", isEmail),
  },
} satisfies Pick<FastifyServerOptions, "ajv">;

/** The codes of the contract for a field and a keyword. All other errors of a body are `invalid_message`. */
const CODES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  message: { maxLength: "message_too_long" },
  email: { format: "invalid_email" },
  session_id: { format: "invalid_session_id" },
  idempotency_key: { type: "invalid_idempotency_key", pattern: "invalid_idempotency_key" },
  "Idempotency-Key": { pattern: "invalid_idempotency_key" },
};
/** The order of the checks. The fields with one code are checked in the order of the schema, after unknown fields. */
const ORDER = [
  "invalid_parameter",
  "invalid_message",
  "invalid_idempotency_key",
  "message_too_long",
  "invalid_email",
  "invalid_session_id",
];

/** Returns a function that translates the errors of a route's validation into the 400 of the first one. */
export function createErrorFormatter(schema: RequestSchema) {
  return (errors: FastifySchemaValidationError[], part: string): HttpError => {
    const partSchema = schema[part as keyof RequestSchema] as TObject;
    const names = Object.keys(partSchema.properties);
    const isStrict = part === "querystring" && isStrictQuery(partSchema);
    const faults = errors.flatMap((error) => {
      const field = fieldOf(error, names);
      if (field === undefined) return [];
      const code = CODES[field]?.[error.keyword] ?? (isStrict ? "invalid_parameter" : "invalid_message");
      return { field, code, rank: ORDER.indexOf(code) * MAX_FIELDS + names.indexOf(field) };
    });
    const [first] = faults.toSorted((a, b) => a.rank - b.rank);
    return badRequest(first?.code ?? "invalid_message", first?.field);
  };
}

/** More fields than a schema has. */
const MAX_FIELDS = 100;

/** Returns the name of the field at fault. Returns undefined if the error only sums up others, as that of `anyOf` does. */
function fieldOf({ instancePath, params }: FastifySchemaValidationError, names: readonly string[]): string | undefined {
  const [, name = params.missingProperty ?? params.additionalProperty] = instancePath.split("/");
  // Fastify validates the names of headers in lower case.
  return names.find((each) => each.toLowerCase() === name) ?? (name as string | undefined);
}

/** Whether a query may only have the parameters of its schema. Such a query is read with readQuery. */
export function isStrictQuery(schema: TObject | undefined): schema is TObject {
  return (schema as TObjectOptions | undefined)?.additionalProperties === false;
}

/**
 * Returns the parameters that a query gives, as its schema types them. Each may be given at most once; an empty value is treated as absent. Throws
 * 400 invalid_parameter for a parameter that the schema does not have, is repeated or contains NUL.
 */
export function readQuery(query: unknown, { properties }: TObject): Record<string, unknown> {
  const parameters = Object.entries(query as Record<string, unknown>);
  for (const [name, value] of parameters)
    if (!Object.hasOwn(properties, name) || typeof value !== "string" || value.includes("\0"))
      throw invalidParameter(name);
  const given = parameters.filter(([, value]) => value !== "") as [string, string][];
  return Object.fromEntries(given.map(([name, value]) => [name, isInteger(properties[name], value) ? +value : value]));
}

function isInteger(schema: (TSchema & { type?: string }) | undefined, value: string): boolean {
  return schema?.type === "integer" && /^\d{1,3}$/.test(value);
}

export function invalidParameter(name: string, options?: ErrorOptions): HttpError {
  return badRequest("invalid_parameter", name, options);
}
