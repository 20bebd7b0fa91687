import { METHODS } from "node:http";
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  RouteOptions,
} from "fastify";
import { preflight } from "./cors.plugin.ts";
import { HttpError } from "./http-error.ts";

type Endpoint = Pick<RouteOptions, "handler" | "onRequest" | "bodyLimit"> & {
  method: "GET" | "POST";
  url: string;
  config: FastifyContextConfig;
};

/** Registers an endpoint that answers its one method, preflights if it serves browsers, and 405 with Allow for every other method. */
export function endpoint(app: FastifyInstance, { method, url, config, ...route }: Endpoint): void {
  const allow = config.cors ? `${method}, OPTIONS` : method;
  app.route({ method, url, config, ...route });
  const taken: string[] = [method];
  if (config.cors) {
    answerUnread(app, { method: "OPTIONS", url, config }, preflight(allow));
    taken.push("OPTIONS");
  }
  const others = METHODS.filter((each) => !taken.includes(each) && app.supportedMethods.includes(each));
  answerUnread(app, { method: others as HTTPMethods[], url, config }, async () => {
    throw new HttpError(405, "method_not_allowed", { allow });
  });
}

type Answer = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Registers a route that answers before the request's body is read. */
function answerUnread(
  app: FastifyInstance,
  route: Pick<RouteOptions, "method" | "url"> & { config: FastifyContextConfig },
  answer: Answer,
): void {
  app.route({ ...route, onRequest: answer, handler: answer });
}

/** Teaches the router every method that the parser knows, so that none of them looks like an unknown path. */
export function knowAllMethods(app: FastifyInstance): void {
  for (const method of METHODS) {
    if (method !== "CONNECT" && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
}
