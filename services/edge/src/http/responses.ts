import type { FastifyContextConfig } from "fastify";
import type { TSchema } from "typebox";
import { isApiRoute } from "./request.ts";
import type { HEADERS, Header } from "./response-headers.ts";

/** Headers by name: their descriptions, or the names of their descriptions in HEADERS. */
type Headers = Readonly<Record<string, Header | keyof typeof HEADERS>>;

type MediaType = { schema: TSchema | object; example?: string; "x-events"?: Readonly<Record<string, TSchema>> };

/** Describes a response in the OpenAPI document, and does not change the response. */
export type RouteResponse = {
  description: string;
  /** The headers that only this response has. */
  headers?: Headers;
  /** The bodies by media type. */
  content?: Readonly<Record<string, MediaType>>;
  /** The codes of an error. */
  codes?: readonly string[];
  /** The fields of an error's body, besides the code. Some codes do not have them. */
  fields?: Readonly<Record<string, TSchema>>;
};

/** The responses of a route by status. */
export type RouteResponses = Readonly<Record<number, RouteResponse>>;

/** A response that must not be cached. */
export const NO_STORE: Headers = { "Cache-Control": "Cache-Control-No-Store" };

/** A response in JSON that must not be cached. */
export function json(description: string, schema: TSchema, headers: Headers = {}): RouteResponse {
  return { description, headers: { ...headers, ...NO_STORE }, content: { "application/json": { schema } } };
}

/** A stream of Server-Sent Events. */
export function eventStream(
  description: string,
  events: Readonly<Record<string, TSchema>>,
  example: { example?: string } = {},
): RouteResponse {
  return {
    description,
    headers: { "Cache-Control": "Cache-Control-Stream", "X-Accel-Buffering": "X-Accel-Buffering" },
    content: { "text/event-stream": { schema: { type: "string" }, ...example, "x-events": events } },
  };
}

export function refused(description: string, ...codes: string[]): RouteResponse {
  return { description, codes };
}

/** The refusals of each endpoint that needs a public key. */
export const WIDGET_REFUSALS: RouteResponses = {
  401: refused("The key is revoked or does not exist.", "invalid_api_key"),
  403: refused("The `Origin` is missing, `null`, or does not match the key's allowed domains.", "origin_not_allowed"),
  503: refused(
    "`unavailable`: a part of the service is unavailable or stopping. `overloaded`: too many streams are open in total or from this address, too many replies wait to start, too many calls wait for the database, the bot's moderation patterns take too long to match the message, the session has too many running replies with an idempotency key, or the reply has too many readers. Retry.",
    "unavailable",
    "overloaded",
  ),
};

export function payloadTooLarge(maxBytes: number): RouteResponse {
  return refused(`The body is larger than ${inKiB(maxBytes)}.`, "payload_too_large");
}

export function inKiB(bytes: number): string {
  return `${bytes / 1_024} KiB`;
}

/** The refusals of each endpoint that needs an access token. */
export const OPERATOR_REFUSALS: RouteResponses = {
  401: refused(
    "The access token is missing or invalid (`authentication_required`), or has no valid workspace claim (`no_workspace`).",
    "authentication_required",
    "no_workspace",
  ),
  503: refused(
    "`unavailable`: a part of the service is unavailable or stopping. `overloaded`: too many streams are open in total or for this user, or too many requests wait for the database. `auth_unavailable`: the identity provider's keys cannot be loaded. Retry.",
    "unavailable",
    "overloaded",
    "auth_unavailable",
  ),
};

export const INVALID_PARAMETER = refused("A parameter is unknown, repeated or invalid.", "invalid_parameter");

/** The refusal of each endpoint that needs a role in the workspace. */
export const FORBIDDEN = refused("The token does not give a role that permits the request.", "forbidden");

const METHOD_NOT_ALLOWED = refused("The method is not allowed; `Allow` lists the allowed ones.", "method_not_allowed");

const MALFORMED_CODES = ["bad_request", "request_timeout", "expectation_failed", "headers_too_large"];
const MALFORMED_BODY = {
  type: "object",
  minProperties: 1,
  maxProperties: 1,
  properties: {
    error: { enum: MALFORMED_CODES },
    detail: { enum: MALFORMED_CODES.filter((code) => code !== "request_timeout") },
  },
};
const MALFORMED_REQUEST = {
  description:
    "The HTTP request itself is malformed: `bad_request` (400, also without `Host` or with two), `request_timeout` (408), `expectation_failed` (417) or `headers_too_large` (431).",
  content: { "application/json": { schema: MALFORMED_BODY } },
};

/** Returns the codes of all refusals of a route. */
export function listCodes(responses: RouteResponses): string[] {
  const all = [...Object.values(responses), METHOD_NOT_ALLOWED];
  return [...new Set([...all.flatMap(({ codes = [] }) => codes), ...MALFORMED_CODES])];
}

type Route = {
  method: string;
  url: string;
  config: FastifyContextConfig;
  /** Whether the route has a rate limit of its own, which its headers describe. */
  isLimited: boolean;
  /** Whether another route of the same URL answers, and describes, the methods that the URL does not have. */
  isSibling: boolean;
};

/** Returns the responses in the form that @fastify/swagger reads. Each header is below `x-header`; openapi.plugin.ts moves it to its place. */
export function describeResponses(route: Route, responses: RouteResponses): Record<string, object> {
  const answersOtherMethods = route.method !== "HEAD" && !route.isSibling;
  const all = Object.entries({ ...responses, ...(answersOtherMethods && { 405: METHOD_NOT_ALLOWED }) });
  const described = all.map(([status, { description, content, codes, fields, headers }]) => {
    const names = Object.entries({ ...commonHeaders(route, Number(status)), ...headers });
    const body = content ?? (codes && { "application/json": { schema: errorSchema(route.config, codes, fields) } });
    return [
      status,
      {
        description,
        headers: Object.fromEntries(names.map(([name, header]) => [name, { "x-header": toHeader(header) }])),
        ...(body === undefined || route.method === "HEAD" ? { type: "null" } : { content: body }),
      },
    ];
  });
  return { ...Object.fromEntries(described), "4xx": MALFORMED_REQUEST };
}

function toHeader(header: Header | string): object {
  return typeof header === "string" ? { $ref: `#/components/headers/${header}` } : header;
}

function errorSchema({ errorKey = "error" }: FastifyContextConfig, codes: readonly string[], fields = {}): object {
  return { type: "object", required: [errorKey], properties: { [errorKey]: { enum: codes }, ...fields } };
}

/** Returns the headers that every response of a route with this status has. */
function commonHeaders({ url, config, isLimited }: Route, status: number): Headers {
  const isApi = isApiRoute(url);
  return {
    ...(isApi && byName("Parley-Request-Id")),
    ...(status === 400 && byName("Parley-Error-Field")),
    ...(config.cors && byName("Vary", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers")),
    ...(status === 405 && byName("Allow")),
    ...(isLimited && (status < 300 || status === 429) && byName("RateLimit", "RateLimit-Policy")),
    ...(isApi && (status === 429 || status === 503) && byName("Retry-After")),
    ...(status >= 400 && NO_STORE),
  };
}

function byName(...names: (keyof typeof HEADERS)[]): Headers {
  return Object.fromEntries(names.map((name) => [name, name]));
}
