import { isParleyError, type RpcClient, status } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import type { FastifyInstance } from "fastify";
import { type AuthDeps, authenticate, userBucket } from "../auth/index.ts";
import { endpoint, HttpError, unavailableError } from "../http/index.ts";
import { enforceRateLimit, POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import { Stopwatch } from "../turns/index.ts";
import { truncateHeader } from "./chat.route.ts";
import { MAX_TURN_BODY_BYTES, parsePlaygroundRequest } from "./chat-request.ts";
import type { KeyedStreamDeps } from "./stream-keyed-turn.ts";
import { streamReply } from "./stream-reply.ts";
import { readResumeHeaders } from "./turn-key.ts";

export type PlaygroundDeps = KeyedStreamDeps &
  AuthDeps & {
    limiter: RateLimiter;
    conversation: RpcClient<typeof ConversationService>;
    monotonicMs: () => number;
  };

const RESOLVE_TIMEOUT_MS = 2_000;

/** POST /api/chat/playground/: streams the reply of a bot to a user whose access token names the bot's workspace. */
export function playgroundRoute(app: FastifyInstance, deps: PlaygroundDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/chat/playground/",
    config: { errorKey: "detail" },
    bodyLimit: MAX_TURN_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    handler: async (request, reply) => {
      // In the phase "token", the edge checks the access token.
      const stopwatch = new Stopwatch(deps.monotonicMs, "token");
      const caller = await authenticate(deps, request, reply);
      stopwatch.enter("limits");
      const { userId, workspaceId } = caller;
      const { botSlug, ...fields } = parsePlaygroundRequest(request.body as Buffer | undefined);
      const resumeHeaders = readResumeHeaders(request.headers);
      const policy = resumeHeaders.lastEventId === undefined ? POLICIES.playground : POLICIES.resume;
      const clientBucket = userBucket(caller);
      await enforceRateLimit(deps.limiter, policy, clientBucket, reply);
      // The bot's lookup is the phase "key", as in POST /api/chat/, which finds the bot by its public key.
      stopwatch.enter("key");
      const botId = await resolveBot(deps, workspaceId, botSlug);
      const { referer = "", "user-agent": userAgent = "", "accept-language": acceptLanguage = "" } = request.headers;
      const turnRequest = {
        ...fields,
        turnId: request.id,
        workspaceId,
        botId,
        source: "playground" as const,
        visitorId: userId,
        referrer: truncateHeader(referer),
        userAgent: truncateHeader(userAgent),
        acceptLanguage: truncateHeader(acceptLanguage),
        client: deps.hashClient(workspaceId, clientBucket),
      };
      const context = { clientBucket, shareBucket: clientBucket, reply, stopwatch };
      await streamReply(deps, turnRequest, { ...resumeHeaders, userId }, context);
      return reply;
    },
  });
}

/** Returns the id of a workspace's bot. Throws 404 bot_not_found, or 503. */
export async function resolveBot(
  deps: Pick<PlaygroundDeps, "conversation">,
  workspaceId: string,
  botSlug: string,
): Promise<string> {
  try {
    const { botId } = await deps.conversation.resolveBot({ workspaceId, botSlug }, { timeoutMs: RESOLVE_TIMEOUT_MS });
    return botId;
  } catch (error) {
    if (isParleyError(error, status.NOT_FOUND)) throw new HttpError(404, "bot_not_found", {}, { cause: error });
    throw unavailableError(error);
  }
}
