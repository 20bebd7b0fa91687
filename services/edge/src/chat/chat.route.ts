import type { FastifyInstance } from "fastify";
import type { KeyResolver } from "../auth/index.ts";
import { addressBucket, endpoint, HttpError, networkBucket } from "../http/index.ts";
import { enforceRateLimit, type MalformedRequestLimiter, POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import { Stopwatch } from "../turns/index.ts";
import { MAX_TURN_BODY_BYTES, parseChatRequest } from "./chat-request.ts";
import type { KeyedStreamDeps } from "./stream-keyed-turn.ts";
import { streamReply } from "./stream-reply.ts";
import { readResumeHeaders } from "./turn-key.ts";

export type ChatDeps = KeyedStreamDeps & {
  limiter: RateLimiter;
  malformedRequests: MalformedRequestLimiter;
  resolveKey: KeyResolver;
  monotonicMs: () => number;
};

/** POST /api/chat/: streams the reply to a visitor's message. */
export function chatRoute(app: FastifyInstance, deps: ChatDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/chat/",
    config: { cors: true },
    bodyLimit: MAX_TURN_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    handler: async (request, reply) => {
      const stopwatch = new Stopwatch(deps.monotonicMs, "limits");
      const { publicKey, ...fields } = parseChatRequest(request.body as Buffer | undefined);
      request.publicKey = publicKey;
      const resumeHeaders = readResumeHeaders(request.headers);
      const clientBucket = addressBucket(request.ip);
      const policy = resumeHeaders.lastEventId === undefined ? POLICIES.chat : POLICIES.resume;
      await enforceRateLimit(deps.limiter, policy, clientBucket, reply);
      stopwatch.enter("key");
      const key = await deps.resolveKey(publicKey, clientBucket);
      if (!key.allowsOrigin(request.headers.origin)) throw new HttpError(403, "origin_not_allowed");
      const { workspaceId, botId } = key;
      const shareBucket = networkBucket(clientBucket);
      const { referer = "", "user-agent": userAgent = "", "accept-language": acceptLanguage = "" } = request.headers;
      const turnRequest = {
        ...fields,
        turnId: request.id,
        workspaceId,
        botId,
        source: "widget" as const,
        referrer: truncateHeader(referer),
        userAgent: truncateHeader(userAgent),
        acceptLanguage: truncateHeader(acceptLanguage),
        client: deps.hashClient(workspaceId, shareBucket),
      };
      const context = { clientBucket, shareBucket, reply, stopwatch };
      await streamReply(deps, turnRequest, { ...resumeHeaders, userId: "" }, context);
      return reply;
    },
  });
}

const MAX_HEADER_CHARACTERS = 1_024;

/** Cuts a header to the part that the conversation service gets. Node decodes headers as Latin-1, so the result is well-formed Unicode. */
export function truncateHeader(header: string): string {
  return header.slice(0, MAX_HEADER_CHARACTERS);
}
