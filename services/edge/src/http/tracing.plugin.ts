import { type Span, tracer } from "@parley/service-kit";
import type { FastifyInstance, FastifyRequest } from "fastify";
import plugin from "fastify-plugin";

/**
 * Begins a trace with each request of the API, and ends its span with the answer. It is always a new one: what a visitor's browser
 * sends along is a stranger's. Does nothing while traces are off.
 */
export const tracing = plugin(
  async (app: FastifyInstance) => {
    const current = tracer();
    if (current === undefined) return;
    const spans = new WeakMap<FastifyRequest, Span>();

    app.addHook("onRequest", (request, reply, next) => {
      const { url: route } = request.routeOptions;
      if (route?.startsWith("/api/")) {
        const attributes = { "http.request.method": request.method, "http.route": route };
        const span = current.root(`${request.method} ${route}`, { kind: "server", attributes });
        spans.set(request, span);
        reply.raw.once("close", () => {
          span.set({ "http.response.status_code": reply.raw.statusCode });
          span.end(reply.raw.writableFinished ? undefined : "client_gone");
        });
      }
      next();
    });
    // Not before: the body comes with the socket's events, which belong to nobody.
    app.addHook("preHandler", (request, _, next) => {
      const span = spans.get(request);
      if (span === undefined) next();
      else span.run(next);
    });
  },
  { name: "tracing" },
);
