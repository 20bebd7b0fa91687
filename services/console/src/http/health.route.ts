import type { FastifyInstance } from "fastify";

/** Health checks on the public port, for load balancers. */
export function healthRoutes(app: FastifyInstance, isReady: () => boolean): void {
  app.get("/healthz/live", async (_, reply) => reply.header("cache-control", "no-store").send({ status: "live" }));
  app.get("/healthz/ready", async (_, reply) =>
    reply
      .code(isReady() ? 200 : 503)
      .header("cache-control", "no-store")
      .send({ status: isReady() ? "ready" : "not ready" }),
  );
}
