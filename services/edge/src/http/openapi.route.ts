import type { FastifyInstance } from "fastify";
import { OPENAPI } from "./openapi.ts";
import { endpoint } from "./plugins/methods.plugin.ts";

export function openapiRoute(app: FastifyInstance): void {
  endpoint(app, {
    method: "GET",
    url: "/openapi.json",
    config: {},
    handler: async (_, reply) => reply.header("content-type", "application/json; charset=utf-8").send(OPENAPI),
  });
}
