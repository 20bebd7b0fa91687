import type { FastifyReply, FastifyRequest } from "fastify";
import plugin from "fastify-plugin";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Answer browsers of every origin, so that the widget can read even a refusal; the boundary is the check of the key's domains. */
    cors?: boolean;
  }
}

const EXPOSED = "Retry-After, RateLimit, RateLimit-Policy";
const PREFLIGHT_SECONDS = "600";

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
  reply.header("access-control-allow-origin", origin).header("access-control-expose-headers", EXPOSED);
}

/** Answers a preflight; anything else that is OPTIONS is a method like another. */
export function preflight(allow: string) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    if (request.headers["access-control-request-method"] === undefined) {
      return reply
        .code(405)
        .header("allow", allow)
        .header("cache-control", "no-store")
        .send({ error: "method_not_allowed" });
    }
    return reply
      .code(204)
      .header("access-control-allow-methods", allow)
      .header("access-control-allow-headers", "Content-Type")
      .header("access-control-max-age", PREFLIGHT_SECONDS)
      .send();
  };
}
