import type { FastifyInstance } from "fastify";

/** GET /healthz/live and GET /healthz/ready on the public port. */
export function healthRoutes(app: FastifyInstance, checkReady: () => boolean): void {
  app.get("/healthz/live", async (_, reply) => reply.header("cache-control", "no-store").send({ status: "live" }));
  app.get("/healthz/ready", async (_, reply) => {
    const isReady = checkReady();
    return reply
      .code(isReady ? 200 : 503)
      .header("cache-control", "no-store")
      .send({ status: isReady ? "ready" : "not ready" });
  });
}
