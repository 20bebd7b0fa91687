import { METHODS } from "node:http";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  HTTPMethods,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
  RouteOptions,
} from "fastify";
import { HttpError } from "../http-error.ts";
import { parseJsonObject } from "../json-body.ts";
import { describeResponses, listCodes, payloadTooLarge, type RouteResponses } from "../responses.ts";
import { createErrorFormatter, isStrictQuery, type RequestSchema, readQuery } from "../validation.ts";
import { PREFLIGHT_HEADERS, preflight, preflightOf } from "./cors.plugin.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The codes of all refusals that the OpenAPI document names for the route. */
    refusalCodes?: readonly string[];
  }
}

/** A request whose parts have the types of the schema. */
export type TypedRequest<Schema extends RequestSchema> = FastifyRequest<
  RouteGenericInterface,
  RawServerDefault,
  RawRequestDefaultExpression,
  Schema,
  TypeBoxTypeProvider
>;

/** What the OpenAPI document says about an endpoint, besides its schema. */
export type Operation = {
  operationId: string;
  summary: string;
  description?: string;
  /** Without 413, which follows from the endpoint's `bodyLimit`. */
  responses: RouteResponses;
  /** Whether the endpoint has a rate limit of its own. */
  isLimited?: boolean;
};

export type Endpoint<Schema extends RequestSchema> = Pick<RouteOptions, "onRequest" | "bodyLimit"> & {
  method: "GET" | "POST" | "DELETE";
  url: string;
  config: FastifyContextConfig;
  /** The other methods of this URL, which other endpoints serve. Those have `isSibling`. */
  siblings?: readonly ("GET" | "POST" | "DELETE")[];
  /** Whether another endpoint of the same URL answers the remaining methods with 405. */
  isSibling?: boolean;
  /** Whether HEAD gets the same response as GET, without the body. */
  head?: boolean;
  /** Undefined for an endpoint that the OpenAPI document leaves out. */
  operation?: Operation;
  schema?: Schema;
  /** Runs before the request is validated. */
  beforeValidation?: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  handler: (request: TypedRequest<Schema>, reply: FastifyReply) => Promise<unknown>;
};

/** The schemas of responses are documentation: a serializer made from them would leave out the fields that they do not name. */
const serializerCompiler = () => JSON.stringify;

/**
 * Registers an endpoint for one method, and for HEAD if `head` is set. If `config.cors` is set, answers CORS preflights. Answers all other
 * methods with 405 and Allow.
 */
export function endpoint<Schema extends RequestSchema>(app: FastifyInstance, route: Endpoint<Schema>): void {
  const { url, config, head = false, siblings = [], isSibling = false, ...others } = route;
  const { beforeValidation, handler, operation: described, ...options } = others;
  const operation = described && withPayloadTooLarge(described, route.bodyLimit);
  const extraMethods = [...(head ? ["HEAD"] : []), ...(config.cors ? ["OPTIONS"] : [])];
  const allowedMethods: string[] = [route.method, ...siblings, ...extraMethods];
  const allow = allowedMethods.join(", ");
  const schema: RequestSchema = route.schema ?? {};
  for (const method of head ? ["GET", "HEAD"] : [route.method])
    app.route({
      ...options,
      url,
      method,
      config: { ...config, refusalCodes: operation === undefined ? [] : listCodes(operation.responses) },
      schema: { ...schema, ...(operation && describe({ method, url, config, operation, isSibling })) },
      exposeHeadRoute: false,
      preValidation: async (request, reply) => {
        await beforeValidation?.(request, reply);
        prepareInput(request, schema);
      },
      schemaErrorFormatter: createErrorFormatter(schema),
      serializerCompiler,
      handler: handler as RouteHandlerMethod,
    });
  if (config.cors) {
    const describedPreflight = operation && {
      url,
      config,
      method: "OPTIONS",
      operation: preflightOf(operation, allow, config),
      isSibling,
    };
    const preflightSchema = describedPreflight && { ...describe(describedPreflight), headers: PREFLIGHT_HEADERS };
    routeWithoutBody(app, { method: "OPTIONS", url, config, schema: preflightSchema ?? {} }, preflight(allow));
  }
  if (isSibling) return;
  const otherMethods = METHODS.filter((each) => !allowedMethods.includes(each) && app.supportedMethods.includes(each));
  routeWithoutBody(app, { method: otherMethods as HTTPMethods[], url, config }, async () => {
    throw new HttpError(405, "method_not_allowed", { allow });
  });
}

/** Adds the refusal of bodies that exceed the endpoint's limit. */
function withPayloadTooLarge(operation: Operation, bodyLimit: number | undefined): Operation {
  if (bodyLimit === undefined) return operation;
  return { ...operation, responses: { ...operation.responses, 413: payloadTooLarge(bodyLimit) } };
}

/** Turns the query and the bytes of the body into what Fastify validates by the schema. Throws a 400 if it is impossible. */
function prepareInput(request: FastifyRequest, { querystring, body }: RequestSchema): void {
  if (isStrictQuery(querystring)) request.query = readQuery(request.query, querystring);
  if (body !== undefined) request.body = parseJsonObject(request.body as Buffer | undefined);
}

type Described = {
  method: string;
  url: string;
  config: FastifyContextConfig;
  operation: Operation;
  isSibling: boolean;
};

/** Returns what @fastify/swagger reads of an endpoint, besides the schemas of its requests. */
function describe({ method, url, config, operation, isSibling }: Described): FastifySchema {
  const { operationId, summary, description, responses, isLimited = false } = operation;
  return {
    operationId,
    summary: method === "HEAD" ? `${summary}, without a body` : summary,
    ...(description !== undefined && { description }),
    tags: [tagOf(config)],
    security: securityOf(method, config),
    response: describeResponses({ method, url, config, isLimited, isSibling }, responses),
  };
}

/** A preflight has no token. */
function securityOf(method: string, { errorKey, visitorToken }: FastifyContextConfig): Record<string, string[]>[] {
  if (errorKey === "detail") return [{ accessToken: [] }];
  return visitorToken && method !== "OPTIONS" ? [{ visitorToken: [] }] : [];
}

function tagOf({ cors, errorKey }: FastifyContextConfig): string {
  if (cors) return "widget";
  return errorKey === "detail" ? "operator" : "service";
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Registers a route that responds before the request's body is read. */
function routeWithoutBody(
  app: FastifyInstance,
  route: Pick<RouteOptions, "method" | "url" | "schema"> & { config: FastifyContextConfig },
  handler: Handler,
): void {
  app.route({ ...route, serializerCompiler, onRequest: handler, handler });
}

/** Adds every method of Node's parser except CONNECT to the router, so that an unusual method gets 405 and not 404. */
export function supportAllMethods(app: FastifyInstance): void {
  for (const method of METHODS) {
    if (method !== "CONNECT" && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
}
