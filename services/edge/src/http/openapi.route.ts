import type { FastifyInstance } from "fastify";
import { endpoint } from "./plugins/methods.plugin.ts";

/** GET /openapi.json: returns the description of all routes. */
export function openapiRoute(app: FastifyInstance): void {
  let document = "";
  app.addHook("onReady", async () => {
    document = JSON.stringify(app.swagger());
  });
  endpoint(app, {
    method: "GET",
    url: "/openapi.json",
    config: {},
    operation: {
      operationId: "openapi",
      summary: "This document",
      responses: {
        200: { description: "OpenAPI 3.1.", content: { "application/json": { schema: { type: "object" } } } },
      },
    },
    handler: async (_, reply) => reply.header("content-type", "application/json; charset=utf-8").send(document),
  });
}
