import { readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";
import { endpoint } from "./plugins/methods.plugin.ts";

export function openapiRoute(app: FastifyInstance): void {
  const document = readFileSync(new URL("../../openapi.json", import.meta.url), "utf8");
  endpoint(app, {
    method: "GET",
    url: "/openapi.json",
    config: {},
    handler: async (_, reply) => reply.header("content-type", "application/json; charset=utf-8").send(document),
  });
}
