import type { FastifyReply, FastifyRequest } from "fastify";
import plugin from "fastify-plugin";
import { ERROR_FIELD_HEADER, HttpError } from "../http-error.ts";
import { REQUEST_ID_HEADER } from "../request.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Allows every origin except `null`, so that the widget can read refusals too. The public key's allowed domains control access. */
    cors?: boolean;
  }
}

const EXPOSED_HEADERS = `Retry-After, RateLimit, RateLimit-Policy, ${ERROR_FIELD_HEADER}, ${REQUEST_ID_HEADER}`;
const ALLOWED_HEADERS = "Content-Type, Idempotency-Key, Last-Event-ID";
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

/** Returns a handler that answers a CORS preflight. Any other OPTIONS request gets 405. */
export function preflight(allow: string) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    if (request.headers["access-control-request-method"] === undefined)
      throw new HttpError(405, "method_not_allowed", { allow });
    return reply
      .code(204)
      .header("access-control-allow-methods", allow)
      .header("access-control-allow-headers", ALLOWED_HEADERS)
      .header("access-control-max-age", PREFLIGHT_MAX_AGE_SECONDS)
      .send();
  };
}
