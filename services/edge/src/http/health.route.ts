import type { FastifyInstance } from "fastify";
import { endpoint } from "./plugins/methods.plugin.ts";

/** GET and HEAD of /healthz/live and /healthz/ready on the public port. Some load balancers probe with HEAD. */
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
