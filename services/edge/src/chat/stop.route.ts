import type { Caller } from "@parley/service-kit";
import type { FastifyInstance } from "fastify";
import { admitVisitor, authenticate, userBucket } from "../auth/index.ts";
import {
  endpoint,
  json,
  MAX_SMALL_BODY_BYTES,
  OPERATOR_REFUSALS,
  type Operation,
  refused,
  WIDGET_REFUSALS,
} from "../http/index.ts";
import { enforceRateLimit, POLICIES } from "../rate-limits/index.ts";
import { VISITOR_MISMATCH, VISITOR_REFUSED } from "../visitors/index.ts";
import type { ChatDeps } from "./chat.route.ts";
import { PLAYGROUND_LIMITED, type PlaygroundDeps, resolveBot } from "./playground.route.ts";
import { PlaygroundStopRequest, StopRequest, StopResult, targetOf } from "./stop-request.ts";
import { type StopDeps, stopTurn } from "./stop-turn.ts";

const STOPPED = json("The reply has ended.", StopResult);
const CODES = ["invalid_json", "invalid_message", "invalid_session_id", "invalid_idempotency_key"];

const STOP: Operation = {
  operationId: "stop",
  summary: "Stop a reply",
  description:
    "Cancels a running reply and its request to the provider. Responds when the outcome is stored. The text so far is kept, and the reply is not counted.",
  isLimited: true,
  responses: {
    ...WIDGET_REFUSALS,
    200: STOPPED,
    400: refused("As for chat.", ...CODES),
    401: VISITOR_REFUSED,
    404: refused("The session has no such reply, or belongs to another verified visitor.", "message_not_found"),
    409: VISITOR_MISMATCH,
    429: refused(
      `One address sent more than ${POLICIES.chat.limit} requests or more than ${POLICIES.malformed.limit} malformed requests in a minute.`,
      "rate_limited",
    ),
  },
};

const PLAYGROUND_STOP: Operation = {
  operationId: "playgroundStop",
  summary: "Stop a reply in the playground",
  description: "As `/api/chat/stop/`, for the caller's own sessions.",
  isLimited: true,
  responses: {
    ...OPERATOR_REFUSALS,
    200: STOPPED,
    400: refused("As for `/api/chat/stop/`.", ...CODES),
    404: refused(
      "The workspace has no such bot (`bot_not_found`), or the session has no such reply (`message_not_found`).",
      "bot_not_found",
      "message_not_found",
    ),
    429: PLAYGROUND_LIMITED,
  },
};

/** POST /api/chat/stop/: stops a reply to a visitor. */
export function stopRoute(app: FastifyInstance, deps: ChatDeps & StopDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/chat/stop/",
    config: { cors: true },
    bodyLimit: MAX_SMALL_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    schema: { body: StopRequest },
    operation: STOP,
    handler: async (request, reply) => {
      const { public_key: publicKey, session_id: sessionId } = request.body;
      const visitor = { request, reply, publicKey };
      const { workspaceId, botId, identifyVisitor } = await admitVisitor(deps, visitor);
      const { visitorId, visitorVerified } = await identifyVisitor({ visitor_token: request.body.visitor_token });
      const session = { workspaceId, botId, sessionId: sessionId.toLowerCase(), source: "widget" as const };
      const scope = { ...session, userId: "", visitorId, visitorVerified };
      const outcome = await stopTurn(deps, scope, targetOf(request.body));
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
    schema: { body: PlaygroundStopRequest },
    operation: PLAYGROUND_STOP,
    beforeValidation: async (request, reply) => {
      request.caller = await authenticate(deps, request, reply);
    },
    handler: async (request, reply) => {
      const caller = request.caller as Caller;
      const { userId, workspaceId } = caller;
      const { bot_slug: botSlug, session_id: sessionId } = request.body;
      await enforceRateLimit(deps.limiter, POLICIES.playground, userBucket(caller), reply);
      const botId = await resolveBot(deps, workspaceId, botSlug);
      const session = { workspaceId, botId, sessionId: sessionId.toLowerCase(), source: "playground" as const };
      const scope = { ...session, userId, visitorId: "", visitorVerified: false };
      const outcome = await stopTurn(deps, scope, targetOf(request.body));
      return reply.header("cache-control", "no-store").send({ status: outcome });
    },
  });
}
