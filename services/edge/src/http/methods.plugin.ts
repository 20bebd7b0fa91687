import { METHODS } from "node:http";
import type { FastifyContextConfig, FastifyInstance, HTTPMethods, RouteHandlerMethod } from "fastify";
import { preflight } from "./cors.plugin.ts";
import { HttpError } from "./http-error.ts";

type Endpoint = {
  method: "GET" | "POST";
  url: string;
  config: FastifyContextConfig;
  handler: RouteHandlerMethod;
};

/** Registers an endpoint that answers its one method, preflights if it serves browsers, and 405 with Allow for every other method. */
export function endpoint(app: FastifyInstance, { method, url, config, handler }: Endpoint): void {
  const allow = config.cors ? `${method}, OPTIONS` : method;
  app.route({ method, url, config, handler });
  const taken: string[] = [method];
  if (config.cors) {
    app.route({ method: "OPTIONS", url, config, handler: preflight(allow) });
    taken.push("OPTIONS");
  }
  app.route({
    method: METHODS.filter((each) => !taken.includes(each) && app.supportedMethods.includes(each)) as HTTPMethods[],
    url,
    config,
    handler: async () => {
      throw new HttpError(405, "method_not_allowed", { allow });
    },
  });
}

/** Teaches the router every method that the parser knows, so that none of them looks like an unknown path. */
export function knowAllMethods(app: FastifyInstance): void {
  for (const method of METHODS) {
    if (method !== "CONNECT" && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
}
