import fastify, { type FastifyRequest } from "fastify";
import type { Static, TObject } from "typebox";
import { endpoint, type RequestSchema, VALIDATION } from "../http/index.ts";
import { rawBody } from "../http/plugins/raw-body.plugin.ts";

/** Returns a function that parses a body as an endpoint with the schema does. It rejects with the code of the 400. */
export function bodyParser<Body extends TObject>(body: Body) {
  return async (payload: Uint8Array | string | undefined): Promise<Static<Body>> =>
    (
      await receive(
        { body },
        { method: "POST", url: "/", ...(payload !== undefined && { payload: Buffer.from(payload) }) },
      )
    ).body as Static<Body>;
}

/** The same for a query, with its parameters or with a list of values for a repeated one. */
export function queryParser<Query extends TObject>(querystring: Query) {
  return async (parameters: Readonly<Record<string, string | string[]>>): Promise<Static<Query>> => {
    const pairs = Object.entries(parameters).flatMap(([name, values]) =>
      [values].flat().map((value): [string, string] => [name, value]),
    );
    return (await receive({ querystring }, { method: "GET", url: `/?${new URLSearchParams(pairs)}` }))
      .query as Static<Query>;
  };
}

type Input = { method: "GET" | "POST"; url: string; payload?: Buffer };

/** Sends a request to an endpoint with the schema, and returns what the endpoint's handler gets. */
async function receive(
  schema: RequestSchema,
  { method, ...input }: Input,
): Promise<Pick<FastifyRequest, "body" | "query">> {
  const app = fastify(VALIDATION);
  await app.register(rawBody);
  const result: { error?: Error; request?: Pick<FastifyRequest, "body" | "query"> } = {};
  app.setErrorHandler<Error>((error, _, reply) => {
    result.error = error;
    return reply.code(400).send();
  });
  endpoint(app, {
    method,
    url: "/",
    config: {},
    schema,
    handler: async (request) => {
      result.request = request;
    },
  });
  await app.inject({ method, ...input });
  await app.close();
  if (result.request === undefined) throw result.error;
  return result.request;
}
