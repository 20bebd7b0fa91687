import type { FastifyInstance } from "fastify";
import Type from "typebox";
import { type KeyResolver, TOO_MANY_UNKNOWN_KEYS } from "../auth/index.ts";
import { PublicKey } from "../chat/index.ts";
import { addressBucket, endpoint, HttpError, refused, WIDGET_REFUSALS } from "../http/index.ts";
import { WidgetConfig } from "./config-body.ts";

const CACHE_CONTROL = "public, max-age=60";

/** GET /api/widget/config/: returns a bot's display configuration, which the widget requests when it starts. */
export function widgetConfigRoute(app: FastifyInstance, deps: { resolveKey: KeyResolver }): void {
  endpoint(app, {
    method: "GET",
    url: "/api/widget/config/",
    config: { cors: true },
    schema: { querystring: Type.Object({ public_key: PublicKey }) },
    operation: {
      operationId: "widgetConfig",
      summary: "Display configuration",
      description: "How the widget displays the bot. The widget reads it once when it starts.",
      responses: {
        ...WIDGET_REFUSALS,
        200: {
          description: "The configuration. Cacheable for 60 seconds.",
          headers: { "Cache-Control": { required: true, schema: { const: CACHE_CONTROL } } },
          content: { "application/json": { schema: WidgetConfig } },
        },
        400: refused("`public_key` is missing.", "invalid_message"),
        429: refused(`One address sent ${TOO_MANY_UNKNOWN_KEYS}.`, "rate_limited"),
      },
    },
    handler: async (request, reply) => {
      const { public_key: publicKey } = request.query;
      request.publicKey = publicKey;
      const key = await deps.resolveKey(publicKey, addressBucket(request.ip));
      if (!key.allowsOrigin(request.headers.origin)) throw new HttpError(403, "origin_not_allowed");
      return reply
        .header("cache-control", CACHE_CONTROL)
        .header("content-type", "application/json; charset=utf-8")
        .send(key.configBody);
    },
  });
}
