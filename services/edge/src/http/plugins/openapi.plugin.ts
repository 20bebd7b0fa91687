import swagger from "@fastify/swagger";
import type { FastifyContextConfig, FastifySchema } from "fastify";
import plugin from "fastify-plugin";
import packageJson from "../../../package.json" with { type: "json" };
import { HEADERS } from "../response-headers.ts";

const DESCRIPTION =
  "Visitors chat with a bot in an embedded widget; replies are streamed as Server-Sent Events. Owners try their bots and export transcripts. URLs have no version: the changelog lists changes and announces breaking changes at least two weeks ahead. New fields and events may be added at any time; ignore unknown ones.";
const TAGS = [
  {
    name: "widget",
    description:
      "Called by the embedded widget with a public key. The key is not secret: access is controlled by its list of allowed domains, which the `Origin` header must match.",
  },
  { name: "operator", description: "Called by owners' scripts with an access token of the identity provider." },
  { name: "service", description: "Health and description of the service." },
];
const ACCESS_TOKEN = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "JWT",
  description: "An access token of the identity provider with a workspace claim (`workspace_id` by default).",
} as const;
const VISITOR_TOKEN = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "JWT",
  description: "A `visitor_token`, which the owner's backend signs with an identity key of the workspace.",
} as const;
const ORIGIN = {
  type: "string",
  description: "The page's origin, set by the browser. It must match one of the key's allowed domains.",
  examples: ["https://shop.example"],
};

/** Generates the OpenAPI document from the schemas of the routes that are registered later. Routes without a tag are left out. */
export const openapi = plugin(
  async (app) => {
    await app.register(swagger, {
      openapi: {
        openapi: "3.1.1",
        info: {
          title: "Parley",
          version: packageJson.version,
          summary: "Self-hosted conversational widget service.",
          description: DESCRIPTION,
          license: { name: "Apache-2.0", identifier: "Apache-2.0" },
        },
        servers: [{ url: "/" }],
        tags: TAGS,
        components: { securitySchemes: { accessToken: ACCESS_TOKEN, visitorToken: VISITOR_TOKEN } },
      },
      hideUntagged: true,
      exposeHeadRoutes: true,
      convertConstToEnum: false,
      transform: ({ schema, url, route }) => ({ schema: withOrigin(schema, route), url }),
      transformObject: (document) => finish(document),
    });
  },
  { name: "openapi" },
);

type Route = { method: string | string[]; config?: FastifyContextConfig };

/** Adds the header Origin, which a route does not validate: a request without it gets 403, and not 400. */
function withOrigin(schema: FastifySchema | undefined, { method, config }: Route): FastifySchema {
  if (schema === undefined || !config?.cors || method === "OPTIONS") return schema ?? {};
  const headers = schema.headers as { properties?: object; required?: string[] } | undefined;
  const properties = { Origin: ORIGIN, ...headers?.properties };
  return { ...schema, headers: { type: "object", required: ["Origin"], properties } };
}

type Json = { [key: string]: Json | undefined };

/** Moves the headers of responses to their places, and each schema with a title to the document's components. */
function finish(document: object): object {
  const schemas: Json = {};
  const { paths, components, ...rest } = (document as { openapiObject: Json }).openapiObject;
  return { ...rest, paths: move(paths, schemas), components: { ...components, headers: HEADERS, schemas } };
}

function move(value: unknown, schemas: Json): unknown {
  if (Array.isArray(value)) return value.map((item) => move(item, schemas));
  if (typeof value !== "object" || value === null) return value;
  const { title, ...rest } = value as Json;
  if (rest.schema?.["x-header"] !== undefined) return rest.schema["x-header"];
  const moved = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, move(inner, schemas)])) as Json;
  if (typeof title !== "string") return { ...(title !== undefined && { title: move(title, schemas) }), ...moved };
  schemas[title] = moved;
  return { $ref: `#/components/schemas/${title}` };
}
