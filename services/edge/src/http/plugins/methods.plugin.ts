import { METHODS } from "node:http";
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  RouteOptions,
} from "fastify";
import { HttpError } from "../http-error.ts";
import { preflight } from "./cors.plugin.ts";

type Endpoint = Pick<RouteOptions, "handler" | "onRequest" | "bodyLimit"> & {
  method: "GET" | "POST" | "DELETE";
  url: string;
  config: FastifyContextConfig;
  /** Whether HEAD gets the same response as GET, without the body. */
  head?: boolean;
};

/**
 * Registers an endpoint for one method, and for HEAD if `head` is set. If `config.cors` is set, answers CORS preflights. Answers all other
 * methods with 405 and Allow.
 */
export function endpoint(app: FastifyInstance, { method, url, config, head = false, ...route }: Endpoint): void {
  const allowedMethods: string[] = [method, ...(head ? ["HEAD"] : []), ...(config.cors ? ["OPTIONS"] : [])];
  const allow = allowedMethods.join(", ");
  app.route({ method, url, config, exposeHeadRoute: head, ...route });
  if (config.cors) routeWithoutBody(app, { method: "OPTIONS", url, config }, preflight(allow));
  const otherMethods = METHODS.filter((each) => !allowedMethods.includes(each) && app.supportedMethods.includes(each));
  routeWithoutBody(app, { method: otherMethods as HTTPMethods[], url, config }, async () => {
    throw new HttpError(405, "method_not_allowed", { allow });
  });
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Registers a route that responds before the request's body is read. */
function routeWithoutBody(
  app: FastifyInstance,
  route: Pick<RouteOptions, "method" | "url"> & { config: FastifyContextConfig },
  handler: Handler,
): void {
  app.route({ ...route, onRequest: handler, handler });
}

/** Adds every method of Node's parser except CONNECT to the router, so that an unusual method gets 405 and not 404. */
export function supportAllMethods(app: FastifyInstance): void {
  for (const method of METHODS) {
    if (method !== "CONNECT" && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
}
