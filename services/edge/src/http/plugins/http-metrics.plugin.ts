import { Counter, DURATION_BUCKETS, Histogram, type Registry, startAtZero } from "@parley/service-kit";
import plugin from "fastify-plugin";
import { routeOf } from "../request.ts";

export type HttpMetrics = ReturnType<typeof createHttpMetrics>;

export function createHttpMetrics(registry: Registry) {
  const registers = [registry];
  return {
    durations: new Histogram({
      name: "parley_http_request_duration_seconds",
      help: "Time from a request to the end of its response or stream, by route, method and status; 499 means the client left before a response.",
      labelNames: ["route", "method", "status"],
      buckets: DURATION_BUCKETS,
      registers,
    }),
    refusals: new Counter({
      name: "parley_requests_refused_total",
      help: "Requests answered with an error before a stream was open, by route and code.",
      labelNames: ["route", "code"],
      registers,
    }),
    unreadableAddresses: new Counter({
      name: "parley_unreadable_addresses_total",
      help: "Requests whose X-Forwarded-For names no address that can be read; they share one rate limit.",
      registers,
    }),
  };
}

const CLIENT_GONE = 499;
/** All other methods share one label value, so that clients cannot create series. */
const METHODS = new Set(["DELETE", "GET", "HEAD", "OPTIONS", "POST"]);

export const httpMetrics = plugin<Pick<HttpMetrics, "durations" | "refusals">>(
  async (app, { durations, refusals }) => {
    app.addHook("onRoute", ({ url, config }) => {
      startAtZero(refusals, { route: [url], code: config?.refusalCodes ?? [] });
    });
    app.addHook("onRequest", (request, reply, done) => {
      const startedAt = performance.now();
      const { raw } = reply;
      // Fastify's onResponse does not run for hijacked responses or for clients that left early.
      raw.once("close", () => {
        const method = METHODS.has(request.method) ? request.method : "other";
        const status = raw.headersSent ? raw.statusCode : CLIENT_GONE;
        durations.observe({ route: routeOf(request), method, status }, (performance.now() - startedAt) / 1_000);
      });
      done();
    });
  },
  { name: "http-metrics" },
);
