import type { FastifyContextConfig, FastifyReply, FastifyRequest } from "fastify";
import plugin from "fastify-plugin";
import Type from "typebox";
import { HttpError } from "../http-error.ts";
import { EXPOSED_HEADERS } from "../response-headers.ts";
import type { RouteResponses } from "../responses.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Allows every origin except `null`, so that the widget can read refusals too. The public key's allowed domains control access. */
    cors?: boolean;
    /** Whether requests have a visitor token in the header Authorization, which a preflight then permits. */
    visitorToken?: boolean;
    /** Whether requests of such a route may have Last-Event-ID, which a preflight then permits. */
    resumes?: boolean;
  }
}

const ALLOWED_HEADERS = "Content-Type, Idempotency-Key, Last-Event-ID";
const allowedHeaders = ({ visitorToken, resumes }: FastifyContextConfig) => {
  if (!visitorToken) return ALLOWED_HEADERS;
  return resumes ? "Authorization, Last-Event-ID" : "Authorization";
};
const PREFLIGHT_MAX_AGE_SECONDS = "600";

export const cors = plugin(
  async (app) => {
    app.addHook("onRequest", (request, reply, done) => {
      if (request.routeOptions.config.cors) allowOrigin(request, reply);
      done();
    });
  },
  { name: "cors" },
);

function allowOrigin(request: FastifyRequest, reply: FastifyReply): void {
  reply.header("vary", "Origin");
  const { origin } = request.headers;
  if (origin === undefined || origin === "null") return;
  reply.header("access-control-allow-origin", origin).header("access-control-expose-headers", EXPOSED_HEADERS);
}

/** What a browser sends. The OpenAPI document describes it; a preflight is answered without validation. */
export const PREFLIGHT_HEADERS = Type.Object({
  Origin: Type.Optional(
    Type.String({
      description: "The page's origin, set by the browser. If it is missing or `null`, the response allows no origin.",
      examples: ["https://shop.example"],
    }),
  ),
  "Access-Control-Request-Method": Type.String(),
});

/** Describes the preflight of an endpoint. */
export function preflightOf({ operationId }: { operationId: string }, allow: string, config: FastifyContextConfig) {
  const constant = (value: string) => ({ required: true, schema: { const: value } });
  const responses: RouteResponses = {
    204: {
      description: "The method and the named headers are allowed; credentials are not.",
      headers: {
        "Access-Control-Allow-Methods": constant(allow),
        "Access-Control-Allow-Headers": constant(allowedHeaders(config)),
        "Access-Control-Max-Age": constant(PREFLIGHT_MAX_AGE_SECONDS),
      },
    },
  };
  const description = "A browser sends this CORS preflight before the request.";
  return { operationId: `${operationId}Preflight`, summary: "Preflight", description, responses };
}

/** Returns a handler that answers a CORS preflight. Any other OPTIONS request gets 405. */
export function preflight(allow: string) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    if (request.headers["access-control-request-method"] === undefined)
      throw new HttpError(405, "method_not_allowed", { allow });
    return reply
      .code(204)
      .header("access-control-allow-methods", allow)
      .header("access-control-allow-headers", allowedHeaders(request.routeOptions.config))
      .header("access-control-max-age", PREFLIGHT_MAX_AGE_SECONDS)
      .send();
  };
}
