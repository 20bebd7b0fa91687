import { isParleyError, type RpcClient, status } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import type { FastifyInstance } from "fastify";
import type { KeyResolver } from "../auth/index.ts";
import { addressBucket, endpoint, HttpError, MAX_SMALL_BODY_BYTES, unavailableError } from "../http/index.ts";
import { enforceRateLimit, type MalformedRequestLimiter, POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import { parseRatingRequest } from "./rating-request.ts";

export type RatingDeps = {
  limiter: RateLimiter;
  malformedRequests: MalformedRequestLimiter;
  resolveKey: KeyResolver;
  conversation: RpcClient<typeof ConversationService>;
};

const RATE_MESSAGE_TIMEOUT_MS = 3_000;

/** POST /api/chat/rating/: stores or removes a visitor's rating of a reply. */
export function ratingRoute(app: FastifyInstance, deps: RatingDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/chat/rating/",
    config: { cors: true },
    bodyLimit: MAX_SMALL_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    handler: async (request, reply) => {
      const { publicKey, ...rating } = parseRatingRequest(request.body as Buffer | undefined);
      request.publicKey = publicKey;
      const bucket = addressBucket(request.ip);
      await enforceRateLimit(deps.limiter, POLICIES.rating, bucket, reply);
      const { workspaceId, botId, allowsOrigin } = await deps.resolveKey(publicKey, bucket);
      if (!allowsOrigin(request.headers.origin)) throw new HttpError(403, "origin_not_allowed");
      try {
        await deps.conversation.rateMessage({ workspaceId, botId, ...rating }, { timeoutMs: RATE_MESSAGE_TIMEOUT_MS });
      } catch (error) {
        if (isParleyError(error, status.NOT_FOUND)) throw new HttpError(404, "message_not_found", {}, { cause: error });
        throw unavailableError(error);
      }
      return reply.code(204).send();
    },
  });
}
