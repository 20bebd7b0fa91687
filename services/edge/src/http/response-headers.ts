import { ERROR_FIELD_HEADER } from "./http-error.ts";
import { REQUEST_ID_HEADER } from "./request.ts";

/** The headers that a page of another origin can read. */
export const EXPOSED_HEADERS = `Retry-After, RateLimit, RateLimit-Policy, ${ERROR_FIELD_HEADER}, ${REQUEST_ID_HEADER}`;

/** A header as the OpenAPI document describes it. */
export type Header = { required?: boolean; description?: string; schema: object; example?: string };

/** The headers that several responses have. */
export const HEADERS = {
  "Parley-Request-Id": {
    required: true,
    description:
      "The id of the request. The operator finds its log lines and its trace by this id. If the response has the reply to an earlier request with the same idempotency key, it is the id of that request.",
    schema: { type: "string", format: "uuid" },
    example: "01939f3e-7d59-7c11-a8f4-7a3b6dc0a001",
  },
  "Parley-Error-Field": {
    required: true,
    description:
      "The field at fault: a field of the body, a query parameter or a header of the request. `body` if the whole body is at fault, or if the field's name is not 1 to 64 letters, digits, `_` or `-`.",
    schema: { type: "string", pattern: "^[A-Za-z0-9_-]{1,64}$" },
    example: "visitor_metadata",
  },
  RateLimit: {
    required: true,
    description:
      "The remaining requests (`r`), and the seconds until the full limit is available again or, after a refusal, until the next request is allowed (`t`).",
    schema: { type: "string", pattern: '^"[a-z-]+";r=\\d+;t=\\d+$' },
    example: '"chat";r=59;t=60',
  },
  "RateLimit-Policy": {
    required: true,
    description: "The limit (`q`) and its window in seconds (`w`).",
    schema: { type: "string", pattern: '^"[a-z-]+";q=\\d+;w=\\d+$' },
    example: '"chat";q=60;w=60',
  },
  "Retry-After": {
    required: true,
    description: "Seconds to wait before a retry; a whole number.",
    schema: { type: "string", pattern: "^[1-9]\\d*$" },
  },
  Allow: { required: true, description: "The allowed methods.", schema: { type: "string" } },
  Vary: { required: true, description: "The response depends on `Origin`.", schema: { const: "Origin" } },
  "Access-Control-Allow-Origin": {
    description:
      "The request's `Origin`, so that a page can read every response, including errors. Absent if the request's `Origin` is missing or `null`.",
    schema: { type: "string" },
  },
  "Access-Control-Expose-Headers": {
    description: "Sent with Access-Control-Allow-Origin.",
    schema: { const: EXPOSED_HEADERS },
  },
  "Cache-Control-No-Store": {
    required: true,
    description: "Errors are never cached.",
    schema: { const: "no-store" },
  },
  "Cache-Control-Stream": {
    required: true,
    description: "Prevents proxies from buffering or transforming events.",
    schema: { const: "no-cache, no-transform" },
  },
  "X-Accel-Buffering": {
    required: true,
    description: "Turns off buffering in nginx.",
    schema: { const: "no" },
  },
} as const satisfies Record<string, Header>;
