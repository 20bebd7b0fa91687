import { isParleyError, type RpcClient, status } from "@parley/rpc";
import type { ConversationService, FoundSession } from "@parley/rpc/conversation";
import type { FastifyInstance } from "fastify";
import { type AuthDeps, authenticateOrCountFailure, requireViewer, userBucket } from "../auth/index.ts";
import { endpoint, unavailableError } from "../http/index.ts";
import { enforceRateLimit, POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import { invalidParameter, parseListQuery } from "./session-query.ts";

export type SessionDeps = AuthDeps & { limiter: RateLimiter; conversation: RpcClient<typeof ConversationService> };

const SEARCH_TIMEOUT_MS = 5_000;

/** GET /api/conversations/: lists the sessions of the caller's workspace, the most recently active first. */
export function listSessionsRoute(app: FastifyInstance, deps: SessionDeps): void {
  endpoint(app, {
    method: "GET",
    url: "/api/conversations/",
    config: { errorKey: "detail" },
    onRequest: deps.malformedRequests.refuseOverLimit,
    handler: async (request, reply) => {
      const caller = await authenticateOrCountFailure(deps, request, reply, POLICIES.conversations);
      requireViewer(caller);
      const query = parseListQuery(request.query);
      await enforceRateLimit(deps.limiter, POLICIES.conversations, userBucket(caller), reply);
      const { sessions, nextPageToken } = await deps.conversation
        .searchSessions({ workspaceId: caller.workspaceId, ...query }, { timeoutMs: SEARCH_TIMEOUT_MS })
        .catch((error: unknown) => {
          throw translateSessionQueryError(error);
        });
      reply.header("cache-control", "no-store");
      return { conversations: sessions.map(toJson), next_cursor: nextPageToken === "" ? null : nextPageToken };
    },
  });
}

/** Translates an error of SearchSessions or ExportSessions. INVALID_ARGUMENT means that the cursor is invalid, because the edge has checked the other parameters. */
export function translateSessionQueryError(error: unknown) {
  const isInvalid = isParleyError(error, status.INVALID_ARGUMENT);
  return isInvalid ? invalidParameter("cursor", { cause: error }) : unavailableError(error);
}

function toJson(session: FoundSession) {
  return {
    id: session.id,
    bot_slug: session.botSlug,
    source: session.source,
    visitor_id: session.visitorId,
    visitor_metadata: JSON.parse(session.visitorMetadata) as unknown,
    referrer: session.referrer,
    user_agent: session.userAgent,
    started_at: session.startedAt,
    last_activity_at: session.lastActivityAt,
    message_count: session.messageCount,
    rating: session.rating,
    review: session.review,
    excerpt: session.excerpt,
  };
}
