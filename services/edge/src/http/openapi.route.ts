import { readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";
import { endpoint } from "./methods.plugin.ts";

/** GET /openapi.json: the description of this interface, for client generators and people with tools. */
export function openapiRoute(app: FastifyInstance): void {
  const document = readFileSync(new URL("../../openapi.json", import.meta.url), "utf8");
  endpoint(app, {
    method: "GET",
    url: "/openapi.json",
    config: {},
    handler: async (_, reply) => reply.header("content-type", "application/json; charset=utf-8").send(document),
  });
}
