import { isParleyError, type RpcClient, status } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import type { Caller } from "@parley/service-kit";
import type { FastifyInstance } from "fastify";
import { type AuthDeps, authenticate, userBucket } from "../auth/index.ts";
import { endpoint, HttpError, OPERATOR_REFUSALS, type Operation, refused, unavailableError } from "../http/index.ts";
import { enforceRateLimit, POLICIES } from "../rate-limits/index.ts";
import { Stopwatch } from "../turns/index.ts";
import { truncateHeader } from "./chat.route.ts";
import { MAX_TURN_BODY_BYTES, PlaygroundRequest, toTurnFields } from "./chat-request.ts";
import type { KeyedStreamDeps } from "./keyed-exchange.ts";
import { NO_MESSAGE_LIMITS } from "./message-counter.ts";
import { KEY_REUSED, MESSAGE_CODES, REPLY_STREAM } from "./stream-events.ts";
import { streamReply } from "./stream-reply.ts";
import { ResumeRequestHeaders, readResumeHeaders } from "./turn-key.ts";

export type PlaygroundDeps = KeyedStreamDeps &
  AuthDeps & {
    conversation: RpcClient<typeof ConversationService>;
    monotonicMs: () => number;
  };

const RESOLVE_TIMEOUT_MS = 2_000;

export const PLAYGROUND_LIMITED = refused(
  `One user sent more than ${POLICIES.playground.limit} requests in a minute; or one address sent more than ${POLICIES.malformed.limit} malformed requests in a minute, including requests without a valid token.`,
  "rate_limited",
);

const PLAYGROUND: Operation = {
  operationId: "playground",
  summary: "Try a bot",
  description: "Streams a reply to an owner or operator. Playground sessions are separate from visitors' sessions.",
  isLimited: true,
  responses: {
    ...OPERATOR_REFUSALS,
    200: REPLY_STREAM,
    400: refused(
      "As for chat. `Idempotency-Key` is not 1 to 255 visible ASCII characters (`invalid_idempotency_key`), or `Last-Event-ID` names another message or an offset beyond the text (`invalid_last_event_id`): discard the text and repeat without the header.",
      ...MESSAGE_CODES,
    ),
    404: refused(
      "The workspace has no such bot (`bot_not_found`), or the session was deleted or belongs to a visitor or another bot (`session_not_found`). With `Last-Event-ID`: no turn has this idempotency key (`turn_not_found`).",
      "bot_not_found",
      "session_not_found",
      "turn_not_found",
    ),
    409: KEY_REUSED,
    429: PLAYGROUND_LIMITED,
  },
};

/** POST /api/chat/playground/: streams the reply of a bot to a user whose access token names the bot's workspace. */
export function playgroundRoute(app: FastifyInstance, deps: PlaygroundDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/chat/playground/",
    config: { errorKey: "detail" },
    bodyLimit: MAX_TURN_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    schema: { headers: ResumeRequestHeaders, body: PlaygroundRequest },
    operation: PLAYGROUND,
    beforeValidation: async (request, reply) => {
      // In the phase "token", the edge checks the access token.
      request.stopwatch = new Stopwatch(deps.monotonicMs, "token");
      request.caller = await authenticate(deps, request, reply);
      request.stopwatch.enter("limits");
    },
    handler: async (request, reply) => {
      const stopwatch = request.stopwatch as Stopwatch;
      const caller = request.caller as Caller;
      const { userId, workspaceId } = caller;
      const resumeHeaders = readResumeHeaders(request.headers);
      const policy = resumeHeaders.lastEventId === undefined ? POLICIES.playground : POLICIES.resume;
      const clientBucket = userBucket(caller);
      await enforceRateLimit(deps.limiter, policy, clientBucket, reply);
      // The bot's lookup is the phase "key", as in POST /api/chat/, which finds the bot by its public key.
      stopwatch.enter("key");
      const botId = await resolveBot(deps, workspaceId, request.body.bot_slug);
      const { referer = "", "user-agent": userAgent = "", "accept-language": acceptLanguage = "" } = request.headers;
      const turnRequest = {
        ...toTurnFields(request.body),
        turnId: request.id,
        workspaceId,
        botId,
        source: "playground" as const,
        visitorId: userId,
        visitorVerified: false,
        referrer: truncateHeader(referer),
        userAgent: truncateHeader(userAgent),
        acceptLanguage: truncateHeader(acceptLanguage),
        consentVersion: "",
        client: deps.hashClient(workspaceId, clientBucket),
      };
      const context = { clientBucket, reply, stopwatch, hasIdentityKeys: false, ...NO_MESSAGE_LIMITS };
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
