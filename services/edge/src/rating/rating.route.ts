import { isParleyError, type RpcClient, status } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import type { FastifyInstance } from "fastify";
import { admitVisitor, type KeyResolver } from "../auth/index.ts";
import {
  endpoint,
  HttpError,
  MAX_SMALL_BODY_BYTES,
  type Operation,
  refused,
  unavailableError,
  WIDGET_REFUSALS,
} from "../http/index.ts";
import { type MalformedRequestLimiter, POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import { VISITOR_MISMATCH, VISITOR_REFUSED } from "../visitors/index.ts";
import { RatingRequest } from "./rating-request.ts";

export type RatingDeps = {
  limiter: RateLimiter;
  malformedRequests: MalformedRequestLimiter;
  resolveKey: KeyResolver;
  conversation: RpcClient<typeof ConversationService>;
};

const RATE_MESSAGE_TIMEOUT_MS = 3_000;

const RATE: Operation = {
  operationId: "rate",
  summary: "Rate a reply",
  description: "Stores, replaces or removes a visitor's rating of a reply.",
  isLimited: true,
  responses: {
    ...WIDGET_REFUSALS,
    204: { description: "The rating is stored or removed." },
    400: refused("As for chat.", "invalid_json", "invalid_message", "invalid_session_id"),
    401: VISITOR_REFUSED,
    404: refused("The session has no such reply, or belongs to another verified visitor.", "message_not_found"),
    409: VISITOR_MISMATCH,
    429: refused(
      `One address sent more than ${POLICIES.rating.limit} ratings or more than ${POLICIES.malformed.limit} malformed requests in a minute.`,
      "rate_limited",
    ),
  },
};

/** POST /api/chat/rating/: stores or removes a visitor's rating of a reply. */
export function ratingRoute(app: FastifyInstance, deps: RatingDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/chat/rating/",
    config: { cors: true },
    bodyLimit: MAX_SMALL_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    schema: { body: RatingRequest },
    operation: RATE,
    handler: async (request, reply) => {
      const { public_key: publicKey, session_id, message_id, rating, reason = "" } = request.body;
      const sessionId = session_id.toLowerCase();
      const visitor = { request, reply, publicKey };
      const { workspaceId, botId, identifyVisitor } = await admitVisitor(deps, visitor, POLICIES.rating);
      const { visitorId, visitorVerified } = await identifyVisitor({ visitor_token: request.body.visitor_token });
      const rated = { workspaceId, botId, sessionId, messageId: BigInt(message_id), rating, reason };
      try {
        await deps.conversation.rateMessage(
          { ...rated, visitorId, visitorVerified },
          { timeoutMs: RATE_MESSAGE_TIMEOUT_MS },
        );
      } catch (error) {
        if (isParleyError(error, status.NOT_FOUND)) throw new HttpError(404, "message_not_found", {}, { cause: error });
        if (isParleyError(error, status.FAILED_PRECONDITION))
          throw new HttpError(409, error.code, {}, { cause: error });
        throw unavailableError(error);
      }
      return reply.code(204).send();
    },
  });
}
