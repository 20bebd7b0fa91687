import type { FastifyInstance } from "fastify";
import Type from "typebox";
import { endpoint } from "./plugins/methods.plugin.ts";
import { json } from "./responses.ts";

const status = (value: string) => Type.Object({ status: Type.Literal(value) });

/** Adds the health checks of the public port, also for HEAD, because some load balancers use it. */
export function healthRoutes(app: FastifyInstance, checkReady: () => boolean): void {
  const health = { method: "GET", head: true, config: {} } as const;
  endpoint(app, {
    ...health,
    url: "/healthz/live",
    operation: {
      operationId: "live",
      summary: "Liveness",
      responses: { 200: json("The process is alive.", status("live")) },
    },
    handler: async (_, reply) => reply.header("cache-control", "no-store").send({ status: "live" }),
  });
  endpoint(app, {
    ...health,
    url: "/healthz/ready",
    operation: {
      operationId: "ready",
      summary: "Readiness",
      responses: {
        200: json("The process accepts requests.", status("ready")),
        503: json(
          "The process is starting or stopping, or has lost its connection to the other services.",
          status("not ready"),
        ),
      },
    },
    handler: async (_, reply) => {
      const isReady = checkReady();
      return reply
        .code(isReady ? 200 : 503)
        .header("cache-control", "no-store")
        .send({ status: isReady ? "ready" : "not ready" });
    },
  });
}
