import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";

/** A part of the document; what is looked for may not be there. */
type Json = { [key: string]: Json | undefined };

export type Exchange = {
  method: string;
  /** Without the query. */
  path: string;
  status: number;
  headers: Headers;
  /** The body, unless it is a stream. */
  text?: string;
  /** A stream's events. */
  events?: readonly { event: string; data: unknown }[];
};

export type Description = {
  /** The document as the service gave it. */
  document: Json;
  /** Every response it describes, as "POST /api/chat/ 200". */
  responses: readonly string[];
  /** The response of an exchange, as in `responses`. Throws when the description has none, or another one. */
  check(exchange: Exchange): string | undefined;
};

/** The service's own description of its interface, as what every answer is measured by. */
export async function loadDescription(baseUrl: string): Promise<Description> {
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as Json;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  ajv.addSchema(closed(document) as Json, "openapi");
  const validators = new Map<string, ValidateFunction>();

  function validate(pointer: string, value: unknown, what: string): void {
    const validator = validators.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` });
    validators.set(pointer, validator);
    if (!validator(value)) throw new Error(`${what} is not as described: ${ajv.errorsText(validator.errors)}`);
  }

  /** The pointer to where a pointer leads once references are followed. */
  function follow(pointer: string): string {
    const reference: unknown = at(document, pointer)?.$ref;
    return typeof reference === "string" ? follow(reference.slice(1)) : pointer;
  }

  return {
    document,
    responses: responsesOf(document),
    check({ method, path, status, headers, text, events }) {
      const template = Object.keys(document.paths ?? {}).find((each) => matches(each, path));
      if (template === undefined) return undefined;
      const item = `/paths/${escaped(template)}`;
      const operations = Object.keys(at(document, item) ?? {});
      const operation = status === 405 ? operations[0] : method.toLowerCase();
      const what = `${String(operation).toUpperCase()} ${template} ${status}`;
      const response = follow(`${item}/${operation}/responses/${status}`);
      const described = at(document, response);
      if (described === undefined) throw new Error(`${what} is not described`);
      for (const name of Object.keys(described.headers ?? {})) {
        const header = follow(`${response}/headers/${name}`);
        const value = headers.get(name);
        if (value !== null) validate(`${header}/schema`, value, `${what}, header ${name}`);
        else if (at(document, header)?.required) throw new Error(`${what} lacks the header ${name}`);
      }
      const type = (headers.get("content-type") ?? "").split(";")[0] ?? "";
      const content = described.content === undefined ? undefined : `${response}/content/${escaped(type)}`;
      if (content !== undefined && at(document, content) === undefined) throw new Error(`${what} came as "${type}"`);
      for (const { event, data } of events ?? []) {
        const schema = `${content}/x-events/${event}`;
        if (at(document, schema) === undefined) throw new Error(`${what} has an event "${event}"`);
        validate(schema, data, `${what}, event ${event}`);
      }
      if (text !== undefined && method !== "HEAD") {
        if (content === undefined && text !== "") throw new Error(`${what} has a body`);
        if (content !== undefined)
          validate(`${content}/schema`, JSON.parse(text), `${what}, body ${text.slice(0, 500)}`);
      }
      return what;
    },
  };
}

function responsesOf(document: Json): string[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item ?? {}).flatMap(([method, operation]) =>
      Object.keys(operation?.responses ?? {}).map((status) => `${method.toUpperCase()} ${path} ${status}`),
    ),
  );
}

/** The same document in which every object has the properties it describes and no others: nothing may be said that is not described. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closed(inner)]));
  return "properties" in copy && copy.type === "object" ? { additionalProperties: false, ...copy } : copy;
}

function at(document: Json, pointer: string): Json | undefined {
  return pointer
    .split("/")
    .slice(1)
    .reduce<Json | undefined>((value, key) => value?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], document);
}

function escaped(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

function matches(template: string, path: string): boolean {
  const [parts, given] = [template.split("/"), path.split("/")];
  return parts.length === given.length && parts.every((part, index) => part.startsWith("{") || part === given[index]);
}
