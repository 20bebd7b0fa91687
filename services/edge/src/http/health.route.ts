import type { FastifyInstance } from "fastify";
import { endpoint } from "./plugins/methods.plugin.ts";

/** Adds the health checks of the public port, also for HEAD, because some load balancers use it. */
export function healthRoutes(app: FastifyInstance, checkReady: () => boolean): void {
  const health = { method: "GET", head: true, config: {} } as const;
  endpoint(app, {
    ...health,
    url: "/healthz/live",
    handler: async (_, reply) => reply.header("cache-control", "no-store").send({ status: "live" }),
  });
  endpoint(app, {
    ...health,
    url: "/healthz/ready",
    handler: async (_, reply) => {
      const isReady = checkReady();
      return reply
        .code(isReady ? 200 : 503)
        .header("cache-control", "no-store")
        .send({ status: isReady ? "ready" : "not ready" });
    },
  });
}
