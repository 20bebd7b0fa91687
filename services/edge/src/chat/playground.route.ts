import { type RpcClient, RpcError, status } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import type { FastifyInstance } from "fastify";
import { type AuthDeps, authenticate, userBucket } from "../auth/index.ts";
import { endpoint, HttpError, unavailable } from "../http/index.ts";
import { enforce, POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import { Stopwatch } from "../turns/index.ts";
import { truncateHeader } from "./chat.route.ts";
import { MAX_TURN_BODY_BYTES, parsePlaygroundRequest } from "./chat-request.ts";
import { type StreamDeps, streamTurn } from "./stream-turn.ts";

export type PlaygroundDeps = StreamDeps &
  AuthDeps & {
    limiter: RateLimiter;
    conversation: RpcClient<typeof ConversationService>;
    monotonicMs: () => number;
  };

const RESOLVE_TIMEOUT_MS = 2_000;

/** POST /api/chat/playground/: streams a reply to an owner or operator from a bot of their workspace. */
export function playgroundRoute(app: FastifyInstance, deps: PlaygroundDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/chat/playground/",
    config: { errorKey: "detail" },
    bodyLimit: MAX_TURN_BODY_BYTES,
    onRequest: deps.malformed.refuse,
    handler: async (request, reply) => {
      const watch = new Stopwatch(deps.monotonicMs, "token");
      const caller = await authenticate(deps, request, reply);
      watch.enter("limits");
      const { userId, workspaceId } = caller;
      const { botSlug, ...turn } = parsePlaygroundRequest(request.body as Buffer | undefined);
      await enforce(deps.limiter, POLICIES.playground, userBucket(caller), reply);
      watch.enter("key");
      const botId = await resolveBot(deps, workspaceId, botSlug);
      const { referer = "", "user-agent": userAgent = "" } = request.headers;
      await streamTurn(
        deps,
        {
          ...turn,
          workspaceId,
          botId,
          source: "playground",
          visitorId: userId,
          referrer: truncateHeader(referer),
          userAgent: truncateHeader(userAgent),
        },
        request,
        reply,
        watch,
      );
      return reply;
    },
  });
}

async function resolveBot(deps: PlaygroundDeps, workspaceId: string, botSlug: string): Promise<string> {
  try {
    const { botId } = await deps.conversation.resolveBot({ workspaceId, botSlug }, { timeoutMs: RESOLVE_TIMEOUT_MS });
    return botId;
  } catch (error) {
    if (error instanceof RpcError && error.status === status.NOT_FOUND)
      throw new HttpError(404, "bot_not_found", {}, { cause: error });
    throw unavailable(error);
  }
}
