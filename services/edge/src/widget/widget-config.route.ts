import type { FastifyInstance } from "fastify";
import type { KeyResolver } from "../auth/index.ts";
import { addressBucket, endpoint, HttpError, invalidMessage, isBlank } from "../http/index.ts";

/** GET /api/widget/config/: returns a bot's display configuration, which the widget requests when it starts. */
export function widgetConfigRoute(app: FastifyInstance, deps: { resolveKey: KeyResolver }): void {
  endpoint(app, {
    method: "GET",
    url: "/api/widget/config/",
    config: { cors: true },
    handler: async (request, reply) => {
      const publicKey = (request.query as { public_key?: unknown }).public_key;
      if (typeof publicKey !== "string" || isBlank(publicKey)) throw invalidMessage("public_key");
      request.publicKey = publicKey;
      const key = await deps.resolveKey(publicKey, addressBucket(request.ip));
      if (!key.allowsOrigin(request.headers.origin)) throw new HttpError(403, "origin_not_allowed");
      return reply
        .header("cache-control", "public, max-age=60")
        .header("content-type", "application/json; charset=utf-8")
        .send(key.configBody);
    },
  });
}
