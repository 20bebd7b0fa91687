import type { Histogram } from "@parley/service-kit";
import plugin from "fastify-plugin";

const CLIENT_GONE = 499;
/** Methods with their own label value. All others share `other`, so that clients cannot create time series. */
const METHODS = new Set(["GET", "HEAD", "POST", "DELETE"]);

export type HttpMetrics = { durations: Histogram<"route" | "method" | "status"> };

export const httpMetrics = plugin<HttpMetrics>(
  async (app, { durations }) => {
    app.addHook("onRequest", (request, reply, done) => {
      const startedAt = performance.now();
      reply.raw.once("close", () => {
        const route = request.routeOptions.url ?? "none";
        const method = METHODS.has(request.method) ? request.method : "other";
        const status = reply.raw.headersSent ? reply.raw.statusCode : CLIENT_GONE;
        durations.observe({ route, method, status }, (performance.now() - startedAt) / 1_000);
      });
      done();
    });
  },
  { name: "http-metrics" },
);
