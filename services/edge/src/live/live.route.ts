import { isParleyError, type RpcClient, RpcError, status } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import type { FastifyInstance } from "fastify";
import Type from "typebox";
import { admitVisitor, type KeyResolver } from "../auth/index.ts";
import { PublicKey, SessionId } from "../chat/index.ts";
import {
  endpoint,
  eventStream,
  HttpError,
  type Operation,
  refused,
  unavailableError,
  WIDGET_REFUSALS,
} from "../http/index.ts";
import { type MalformedRequestLimiter, POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import type { StreamRegistry } from "../streams/index.ts";
import { HandoffState, MessageAgent } from "../turns/index.ts";
import { identifyBearer, VISITOR_MISMATCH, VISITOR_REFUSED } from "../visitors/index.ts";
import { followHandoff, readHandoff } from "./follow-handoff.service.ts";
import type { LiveBus } from "./live-bus.ts";
import { serveLiveStream } from "./serve-live-stream.ts";
import { watchKey } from "./watch-key.service.ts";

export type LiveDeps = {
  limiter: RateLimiter;
  malformedRequests: MalformedRequestLimiter;
  resolveKey: KeyResolver;
  conversation: RpcClient<typeof ConversationService>;
  streams: StreamRegistry;
  liveBus: LiveBus;
};

const MessageId = Type.String({ pattern: "^(0|[1-9]\\d{0,15})$" });

const LiveQuery = Type.Object({
  public_key: PublicKey,
  session_id: SessionId,
  after: Type.Optional({
    ...MessageId,
    description: "The `id` of the last message that the client has; 0 or absent for all.",
  }),
});
const LiveHeaders = Type.Object({
  "last-event-id": Type.Optional({ ...MessageId, description: "As `after`, which it replaces." }),
});

const LiveMessage = Type.Object(
  {
    id: Type.String({
      description: "The message's id; that of a visitor's message is the `message_id` of its `meta` event minus 1.",
    }),
    role: Type.Enum(["user", "assistant"]),
    content: Type.String(),
    created_at: Type.String({ description: "When it was written." }),
    agent: Type.Optional(MessageAgent),
  },
  { title: "LiveMessage", description: "A message of the visitor or of a person. The bot's turns are not among them." },
);
const Typing = Type.Object(
  { agent: MessageAgent },
  { title: "Typing", description: "A person is typing. Valid for 5 s." },
);

export const HANDOFF_REFUSALS = {
  ...WIDGET_REFUSALS,
  400: refused("As for chat.", "invalid_json", "invalid_message", "invalid_session_id"),
  401: VISITOR_REFUSED,
  404: refused(
    "The session does not exist, was deleted, or belongs to another bot, to the playground or to another verified visitor.",
    "session_not_found",
  ),
  429: refused(
    `One address sent more than ${POLICIES.chat.limit} requests or more than ${POLICIES.malformed.limit} malformed requests in a minute.`,
    "rate_limited",
  ),
};

const LIVE: Operation = {
  operationId: "followHandoff",
  summary: "Follow a conversation with a person",
  description:
    "Streams who answers the visitor, and the messages of the visitor and of people. A visitor token is sent in `Authorization: Bearer`. The stream ends after 10 minutes at the latest: connect again with `Last-Event-ID`. It also ends within 5 s after the key is revoked.",
  isLimited: true,
  responses: {
    ...HANDOFF_REFUSALS,
    200: eventStream(
      "`state` first and at each change, or after the messages if the bot answers; `message` for each message after `after`, once and in order, and `typing`. The `id:` line of a message has its id. After 15 s of silence a comment line keeps the connection alive.",
      { state: HandoffState, message: LiveMessage, typing: Typing },
    ),
    409: VISITOR_MISMATCH,
  },
};

/** GET /api/chat/live/: streams the messages of people, and who answers. */
export function liveRoute(app: FastifyInstance, deps: LiveDeps): void {
  endpoint(app, {
    method: "GET",
    url: "/api/chat/live/",
    config: { cors: true, visitorToken: true, resumes: true },
    onRequest: deps.malformedRequests.refuseOverLimit,
    schema: { querystring: LiveQuery, headers: LiveHeaders },
    operation: LIVE,
    handler: async (request, reply) => {
      const { public_key: publicKey, session_id, after = "0" } = request.query;
      const visitor = { request, reply, publicKey };
      const { workspaceId, botId, bucket, identifyVisitor } = await admitVisitor(deps, visitor);
      const { visitorId, visitorVerified } = await identifyBearer(identifyVisitor, request.headers.authorization);
      const session = { workspaceId, botId, sessionId: session_id.toLowerCase(), visitorId, visitorVerified };
      const position = BigInt(request.headers["last-event-id"] ?? after);
      await serveLiveStream(
        deps.streams,
        { request, reply, bucket, isVisitor: true },
        {
          readFirst: () =>
            readHandoff(deps, session, position).catch((error: unknown) => {
              throw translateHandoffError(error);
            }),
          async follow(writer, first, signal) {
            const { origin } = request.headers;
            const key = watchKey(async () => (await deps.resolveKey(publicKey, bucket)).allowsOrigin(origin));
            const until = AbortSignal.any([signal, key.signal]);
            const ended = followHandoff({ ...deps, bus: deps.liveBus }, session, writer, { first, signal: until });
            await ended.finally(key.release);
          },
        },
      );
      return reply;
    },
  });
}

/** Translates an error of the calls about a visitor's handoff. */
export function translateHandoffError(error: unknown): HttpError {
  if (isParleyError(error, status.NOT_FOUND)) return new HttpError(404, "session_not_found", {}, { cause: error });
  if (isParleyError(error, status.FAILED_PRECONDITION) && error instanceof RpcError)
    return new HttpError(409, error.code, {}, { cause: error });
  return unavailableError(error);
}
