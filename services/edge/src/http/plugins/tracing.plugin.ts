import { currentTracer, type Span } from "@parley/service-kit";
import type { FastifyInstance, FastifyRequest } from "fastify";
import plugin from "fastify-plugin";
import { isApiRoute, routeOf } from "../request.ts";

/** Starts a trace for each API request. Ignores incoming trace headers, because visitors' browsers are not trusted. */
export const tracing = plugin(
  async (app: FastifyInstance) => {
    const current = currentTracer();
    if (current === undefined) return;
    const spans = new WeakMap<FastifyRequest, Span>();

    app.addHook("onRequest", (request, reply, next) => {
      const route = routeOf(request);
      if (isApiRoute(route)) {
        const attributes = {
          "http.request.method": request.method,
          "http.route": route,
          "parley.request_id": request.id,
        };
        const span = current.openRoot(`${request.method} ${route}`, { kind: "server", attributes });
        spans.set(request, span);
        reply.raw.once("close", () => {
          span.setAttributes({ "http.response.status_code": reply.raw.statusCode });
          span.end(reply.raw.writableFinished ? undefined : "client_gone");
        });
      }
      next();
    });
    // Activates the span only here: the body arrives in socket events, which would lose a context set in onRequest.
    app.addHook("preHandler", (request, _, next) => {
      const span = spans.get(request);
      if (span === undefined) next();
      else span.run(next);
    });
  },
  { name: "tracing" },
);
