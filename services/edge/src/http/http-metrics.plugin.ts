import { Counter, DURATION_BUCKETS, Histogram, type Registry } from "@parley/service-kit";
import type { FastifyRequest } from "fastify";
import plugin from "fastify-plugin";

export type HttpMetrics = ReturnType<typeof createHttpMetrics>;

export function createHttpMetrics(registry: Registry) {
  const registers = [registry];
  return {
    durations: new Histogram({
      name: "parley_http_request_duration_seconds",
      help: "Time from a request to the end of its answer, a stream's end too, by route, method and status; 499: the client left before there was one.",
      labelNames: ["route", "method", "status"],
      buckets: DURATION_BUCKETS,
      registers,
    }),
    refusals: new Counter({
      name: "parley_requests_refused_total",
      help: "Requests answered with an error before any stream, by route and code.",
      labelNames: ["route", "code"],
      registers,
    }),
  };
}

const CLIENT_LEFT = 499;
/** Whoever asks may name any method that the parser knows; these are the ones that are answered. */
const METHODS = new Set(["GET", "HEAD", "OPTIONS", "POST"]);

/** What no route answers, or was no request at all. */
export const NO_ROUTE = "none";

/** The pattern of the route that a request was led to, never its path: session ids stand in that. */
export function routeOf(request: FastifyRequest): string {
  return request.routeOptions.url ?? NO_ROUTE;
}

/** Times every request. */
export const httpMetrics = plugin<Pick<HttpMetrics, "durations">>(
  async (app, { durations }) => {
    app.addHook("onRequest", (request, reply, done) => {
      const startedAt = performance.now();
      const { raw } = reply;
      // Also after an answer that was streamed past Fastify, and after one that nobody waited for.
      raw.once("close", () => {
        const method = METHODS.has(request.method) ? request.method : "other";
        const status = raw.headersSent ? raw.statusCode : CLIENT_LEFT;
        durations.observe({ route: routeOf(request), method, status }, (performance.now() - startedAt) / 1_000);
      });
      done();
    });
  },
  { name: "http-metrics" },
);
