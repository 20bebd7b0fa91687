import type { FastifyInstance } from "fastify";
import Type from "typebox";
import { type KeyResolver, TOO_MANY_UNKNOWN_KEYS } from "../auth/index.ts";
import { CHALLENGE } from "../challenges/index.ts";
import {
  addressBucket,
  endpoint,
  HttpError,
  networkBucket,
  type Operation,
  refused,
  WIDGET_REFUSALS,
} from "../http/index.ts";
import { enforceRateLimit, type MalformedRequestLimiter, POLICIES } from "../rate-limits/index.ts";
import { Stopwatch } from "../turns/index.ts";
import { VISITOR_REFUSED } from "../visitors/index.ts";
import { ChatRequest, MAX_MESSAGE_CHARACTERS, MAX_TURN_BODY_BYTES, toTurnFields } from "./chat-request.ts";
import type { KeyedStreamDeps } from "./keyed-exchange.ts";
import { KEY_REUSED_OR_VISITOR_MISMATCH, MESSAGE_CODES, REPLY_STREAM } from "./stream-events.ts";
import { streamReply } from "./stream-reply.ts";
import { ResumeRequestHeaders, readResumeHeaders } from "./turn-key.ts";

export type ChatDeps = KeyedStreamDeps & {
  malformedRequests: MalformedRequestLimiter;
  resolveKey: KeyResolver;
  monotonicMs: () => number;
};

declare module "fastify" {
  interface FastifyRequest {
    /** Measures a request for a reply from the time when its body has been read. */
    stopwatch?: Stopwatch;
  }
}

const Consent = Type.Object(
  {
    version: Type.String({ description: "Send it as `consent_version` when the visitor agrees." }),
    text: Type.String({
      description:
        "What the visitor must agree to, in Markdown: in the first language of `Accept-Language` that the bot has.",
    }),
    link: Type.String({ description: "An `https` URL with more about it; empty for none." }),
  },
  { title: "Consent", description: "What a visitor must agree to. Only with `consent_required`." },
);

const CHAT: Operation = {
  operationId: "chat",
  summary: "Stream a reply",
  description: `Streams the reply to a visitor's message. Checks run in this order: JSON, required fields, length, UUID, rate limit, key, origin, visitor token, session, consent, idempotency key, challenge, limit of the visitor's messages. The response reports the first failure. A request that fails validation does not count against the chat limit but as a malformed request: an address that has sent more than ${POLICIES.malformed.limit} malformed requests in a minute gets 429 before the body is read.`,
  isLimited: true,
  responses: {
    ...WIDGET_REFUSALS,
    200: REPLY_STREAM,
    400: refused(
      `The body is not JSON (\`invalid_json\`), a field is missing, blank or of the wrong type (\`invalid_message\`), \`message\` is longer than ${MAX_MESSAGE_CHARACTERS} characters (\`message_too_long\`), or \`session_id\` is not a UUID (\`invalid_session_id\`). \`Idempotency-Key\` is not 1 to 255 visible ASCII characters (\`invalid_idempotency_key\`), or \`Last-Event-ID\` names another message or an offset beyond the text (\`invalid_last_event_id\`): discard the text and repeat without the header.`,
      ...MESSAGE_CODES,
    ),
    401: VISITOR_REFUSED,
    403: {
      ...refused(
        "The `Origin` is missing, `null`, or does not match the key's allowed domains (`origin_not_allowed`); the visitor must agree to the bot's consent first (`consent_required`): show `consent` to the visitor, and repeat the request with `consent_version`; or the key asks for a pass, and the request has none that is valid (`challenge_required`): send the solution of `challenge` to `/api/chat/challenge/`, and repeat the request with the pass.",
        "origin_not_allowed",
        "consent_required",
        "challenge_required",
      ),
      fields: { consent: Consent, challenge: CHALLENGE },
    },
    404: refused(
      "The session was deleted, or belongs to another bot, to the playground or to another verified visitor. With `Last-Event-ID`: no turn has this idempotency key (`turn_not_found`).",
      "session_not_found",
      "turn_not_found",
    ),
    409: KEY_REUSED_OR_VISITOR_MISMATCH,
    429: refused(
      `One address sent more than ${POLICIES.chat.limit} requests in a minute, more than ${POLICIES.resume.limit} with \`Last-Event-ID\`, ${TOO_MANY_UNKNOWN_KEYS}, or more than ${POLICIES.malformed.limit} malformed requests in a minute (\`rate_limited\`); or the visitor sent more messages in 24 hours than the bot permits (\`visitor_limit\`).`,
      "rate_limited",
      "visitor_limit",
    ),
  },
};

/** POST /api/chat/: streams the reply to a visitor's message. */
export function chatRoute(app: FastifyInstance, deps: ChatDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/chat/",
    config: { cors: true },
    bodyLimit: MAX_TURN_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    schema: { headers: ResumeRequestHeaders, body: ChatRequest },
    operation: CHAT,
    beforeValidation: async (request) => {
      request.stopwatch = new Stopwatch(deps.monotonicMs, "limits");
    },
    handler: async (request, reply) => {
      const stopwatch = request.stopwatch as Stopwatch;
      const { public_key: publicKey } = request.body;
      request.publicKey = publicKey;
      const resumeHeaders = readResumeHeaders(request.headers);
      const clientBucket = addressBucket(request.ip);
      const policy = resumeHeaders.lastEventId === undefined ? POLICIES.chat : POLICIES.resume;
      await enforceRateLimit(deps.limiter, policy, clientBucket, reply);
      stopwatch.enter("key");
      const key = await deps.resolveKey(publicKey, clientBucket);
      if (!key.allowsOrigin(request.headers.origin)) throw new HttpError(403, "origin_not_allowed");
      const visitor = await key.identifyVisitor(request.body);
      const { workspaceId, botId, hasIdentityKeys, visitorMessagesPerDay, challenge } = key;
      const { referer = "", "user-agent": userAgent = "", "accept-language": acceptLanguage = "" } = request.headers;
      const turnRequest = {
        ...toTurnFields(request.body),
        ...visitor,
        turnId: request.id,
        workspaceId,
        botId,
        source: "widget" as const,
        referrer: truncateHeader(referer),
        userAgent: truncateHeader(userAgent),
        acceptLanguage: truncateHeader(acceptLanguage),
        consentVersion: request.body.consent_version ?? "",
        client: deps.hashClient(workspaceId, networkBucket(clientBucket)),
      };
      const limits = { visitorMessagesPerDay, challenge, publicKey, challengePass: request.body.challenge_pass };
      const context = { clientBucket, reply, stopwatch, hasIdentityKeys, ...limits };
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
