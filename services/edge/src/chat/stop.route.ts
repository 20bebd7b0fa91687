import type { FastifyInstance } from "fastify";
import { authenticate, userBucket } from "../auth/index.ts";
import { addressBucket, endpoint, HttpError, MAX_SMALL_BODY_BYTES } from "../http/index.ts";
import { enforceRateLimit, POLICIES } from "../rate-limits/index.ts";
import type { ChatDeps } from "./chat.route.ts";
import { type PlaygroundDeps, resolveBot } from "./playground.route.ts";
import { parsePlaygroundStopRequest, parseStopRequest } from "./stop-request.ts";
import { type StopDeps, stopTurn } from "./stop-turn.ts";

/** POST /api/chat/stop/: stops a reply to a visitor. */
export function stopRoute(app: FastifyInstance, deps: ChatDeps & StopDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/chat/stop/",
    config: { cors: true },
    bodyLimit: MAX_SMALL_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    handler: async (request, reply) => {
      const { publicKey, sessionId, target } = parseStopRequest(request.body as Buffer | undefined);
      request.publicKey = publicKey;
      const bucket = addressBucket(request.ip);
      await enforceRateLimit(deps.limiter, POLICIES.chat, bucket, reply);
      const { workspaceId, botId, allowsOrigin } = await deps.resolveKey(publicKey, bucket);
      if (!allowsOrigin(request.headers.origin)) throw new HttpError(403, "origin_not_allowed");
      const scope = { workspaceId, botId, sessionId, source: "widget" as const, userId: "" };
      const outcome = await stopTurn(deps, scope, target);
      return reply.header("cache-control", "no-store").send({ status: outcome });
    },
  });
}

/** POST /api/chat/playground/stop/: stops a reply in the playground. */
export function playgroundStopRoute(app: FastifyInstance, deps: PlaygroundDeps & StopDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/chat/playground/stop/",
    config: { errorKey: "detail" },
    bodyLimit: MAX_SMALL_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    handler: async (request, reply) => {
      const caller = await authenticate(deps, request, reply);
      const { userId, workspaceId } = caller;
      const { botSlug, sessionId, target } = parsePlaygroundStopRequest(request.body as Buffer | undefined);
      await enforceRateLimit(deps.limiter, POLICIES.playground, userBucket(caller), reply);
      const botId = await resolveBot(deps, workspaceId, botSlug);
      const scope = { workspaceId, botId, sessionId, source: "playground" as const, userId };
      const outcome = await stopTurn(deps, scope, target);
      return reply.header("cache-control", "no-store").send({ status: outcome });
    },
  });
}
