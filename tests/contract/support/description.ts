import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";

/** An object of the OpenAPI document. Any key may be missing. */
type Json = { [key: string]: Json | undefined };

export type Exchange = {
  method: string;
  /** Path without the query. */
  path: string;
  status: number;
  headers: Headers;
  /** The body, unless it is a stream. */
  text?: string;
  /** A stream's events. */
  events?: readonly { event: string; data: unknown }[];
};

export type Description = {
  /** The document that the service returned. */
  document: Json;
  /** Every described response, for example "POST /api/chat/ 200". */
  responses: readonly string[];
  /** Returns the response's name as in `responses`, or undefined for an undescribed path. Throws if the response is not as described. */
  check(exchange: Exchange): string | undefined;
};

export async function loadDescription(baseUrl: string): Promise<Description> {
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as Json;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  ajv.addSchema(forbidExtraProperties(document) as Json, "openapi");
  const validators = new Map<string, ValidateFunction>();

  function validate(pointer: string, value: unknown, label: string): void {
    const validator = validators.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` });
    validators.set(pointer, validator);
    if (!validator(value)) throw new Error(`${label} is not as described: ${ajv.errorsText(validator.errors)}`);
  }

  /** Follows `$ref`s and returns the final pointer. */
  function follow(pointer: string): string {
    const reference: unknown = resolvePointer(document, pointer)?.$ref;
    return typeof reference === "string" ? follow(reference.slice(1)) : pointer;
  }

  return {
    document,
    responses: responsesOf(document),
    check({ method, path, status, headers, text, events }) {
      const templates = Object.keys(document.paths ?? {});
      // A concrete path takes precedence over a templated one.
      const template = templates.find((each) => each === path) ?? templates.find((each) => matchesTemplate(each, path));
      if (template === undefined) return undefined;
      const item = `/paths/${escapePointer(template)}`;
      const operations = Object.keys(resolvePointer(document, item) ?? {});
      const isDescribed = operations.includes(method.toLowerCase());
      // A path's 405 is described only under its described methods. For any other method, use the 405 of the first described method.
      const operation = status === 405 && !isDescribed ? operations[0] : method.toLowerCase();
      const label = `${String(operation).toUpperCase()} ${template} ${status}`;
      const response = follow(`${item}/${operation}/responses/${status}`);
      const described = resolvePointer(document, response);
      if (described === undefined) throw new Error(`${label} is not described`);
      for (const name of Object.keys(described.headers ?? {})) {
        const header = follow(`${response}/headers/${name}`);
        const value = headers.get(name);
        if (value !== null) validate(`${header}/schema`, value, `${label}, header ${name}`);
        else if (resolvePointer(document, header)?.required) throw new Error(`${label} lacks the header ${name}`);
      }
      const type = (headers.get("content-type") ?? "").split(";")[0] ?? "";
      const content = described.content === undefined ? undefined : `${response}/content/${escapePointer(type)}`;
      if (content !== undefined && resolvePointer(document, content) === undefined)
        throw new Error(`${label} has the undescribed content type "${type}"`);
      for (const { event, data } of events ?? []) {
        const schema = `${content}/x-events/${event}`;
        if (resolvePointer(document, schema) === undefined)
          throw new Error(`${label} has the unknown event "${event}"`);
        validate(schema, data, `${label}, event ${event}`);
      }
      if (text !== undefined && method !== "HEAD") {
        if (content === undefined && text !== "") throw new Error(`${label} has an undescribed body`);
        if (content !== undefined)
          for (const value of parseBody(type, text))
            validate(`${content}/schema`, value, `${label}, body ${text.slice(0, 500)}`);
      }
      return label;
    },
  };
}

/** Returns the names of all described responses except 4XX, the response to malformed HTTP, which fetch cannot send. */
function responsesOf(document: Json): string[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item ?? {}).flatMap(([method, operation]) =>
      Object.keys(operation?.responses ?? {})
        .filter((status) => status !== "4XX")
        .map((status) => `${method.toUpperCase()} ${path} ${status}`),
    ),
  );
}

/** Returns the values that a body's schema describes: the text of CSV, the value of each NDJSON line, or the value of JSON. */
function parseBody(type: string, text: string): unknown[] {
  if (type === "text/csv") return [text];
  if (type !== "application/x-ndjson") return [JSON.parse(text)];
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
}

/** Returns a copy of the document in which objects may only have described properties, unless their schema sets additionalProperties. */
function forbidExtraProperties(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(forbidExtraProperties);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, forbidExtraProperties(inner)]));
  return "properties" in copy && copy.type === "object" ? { additionalProperties: false, ...copy } : copy;
}

function resolvePointer(document: Json, pointer: string): Json | undefined {
  return pointer
    .split("/")
    .slice(1)
    .reduce<Json | undefined>((value, key) => value?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], document);
}

function escapePointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Returns whether a path matches a template such as `/api/conversations/{session_id}/`. */
function matchesTemplate(template: string, path: string): boolean {
  const [parts, actual] = [template.split("/"), path.split("/")];
  return parts.length === actual.length && parts.every((part, index) => part.startsWith("{") || part === actual[index]);
}
