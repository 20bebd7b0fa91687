import { isParleyError, type RpcClient, status } from "@parley/rpc";
import type { ConversationService, VisitorMessage, VisitorSession } from "@parley/rpc/conversation";
import { OUTCOMES, outcomeFromProto, toErrorCode } from "@parley/rpc/outcomes";
import { isUuid } from "@parley/service-kit";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import Type, { type Static } from "typebox";
import { admitVisitor, type KeyResolver, TOO_MANY_UNKNOWN_KEYS } from "../auth/index.ts";
import { MessageSource, PublicKey } from "../chat/index.ts";
import {
  endpoint,
  INVALID_PARAMETER,
  json,
  type Operation,
  refused,
  unavailableError,
  WIDGET_REFUSALS,
} from "../http/index.ts";
import { type MalformedRequestLimiter, POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import { MessageAgent, toShownSource } from "../turns/index.ts";
import { requireVerifiedVisitor, VISITOR_REFUSED } from "../visitors/index.ts";
import { SessionParams, sessionNotFound } from "./delete-session.route.ts";
import { translateSessionQueryError } from "./list-sessions.route.ts";
import { MESSAGE_ID, Session, time } from "./transcript.ts";

export type HistoryDeps = {
  limiter: RateLimiter;
  malformedRequests: MalformedRequestLimiter;
  resolveKey: KeyResolver;
  conversation: RpcClient<typeof ConversationService>;
};

const TIMEOUT_MS = 3_000;

const SessionsQuery = Type.Object(
  {
    public_key: PublicKey,
    cursor: Type.Optional(Type.String({ description: "The `next_cursor` of the page before." })),
  },
  { additionalProperties: false },
);
const MessagesQuery = Type.Object(
  {
    public_key: PublicKey,
    before: Type.Optional(
      Type.String({ pattern: "^[1-9]\\d{0,15}$", description: "The `next_before` of the page before." }),
    ),
  },
  { additionalProperties: false },
);

const HistorySession = Type.Object(
  {
    id: Session.properties.id,
    title: Type.String({ description: "The beginning of the first message, at most 80 characters; may be empty." }),
    started_at: Session.properties.started_at,
    last_activity_at: Session.properties.last_activity_at,
  },
  { title: "HistorySession", description: "A session in its visitor's list." },
);
const SessionsPage = Type.Object({
  sessions: Type.Array(HistorySession, { description: "Last active first." }),
  next_cursor: Type.Unsafe<string | null>({ type: ["string", "null"], description: "null after the last page." }),
});

const HistoryMessage = Type.Object(
  {
    id: MESSAGE_ID,
    role: Type.Enum(["user", "assistant"]),
    content: Type.String({
      description:
        "The text; of an incomplete reply, the part that was received; of a blocked reply, the fallback; empty while the reply is running.",
    }),
    created_at: time("When the message was written."),
    finish_reason: Type.Optional(
      Type.Enum(["stop", "error", "blocked", "quota_exceeded", "cancelled", "handoff"], {
        description: "Of a reply: as in its `done` event. Absent while the reply is running.",
      }),
    ),
    agent: Type.Optional(MessageAgent),
    code: Type.Optional(Type.String({ description: "Of a reply that has an `error` event: the event's code." })),
    rating: Type.Optional(
      Type.Enum(["", "up", "down"], { description: "Of a reply: the visitor's rating; empty if unrated." }),
    ),
    sources: Type.Optional(
      Type.Array(MessageSource, { description: "Of a reply that shows its sources: as in its `sources` event." }),
    ),
  },
  { title: "HistoryMessage", description: "A message as its visitor saw it." },
);
const MessagesPage = Type.Object({
  messages: Type.Array(HistoryMessage, { description: "In chronological order." }),
  next_before: Type.Unsafe<string | null>({
    type: ["string", "null"],
    description: "The `before` of the page with the messages before these; null if there are none.",
  }),
});

const REFUSALS = {
  ...WIDGET_REFUSALS,
  400: INVALID_PARAMETER,
  401: VISITOR_REFUSED,
  429: refused(
    `One address sent more than ${POLICIES.chat.limit} requests to chat, challenge, stop and history, ${TOO_MANY_UNKNOWN_KEYS}, or more than ${POLICIES.malformed.limit} malformed requests in a minute.`,
    "rate_limited",
  ),
};

const LIST_SESSIONS: Operation = {
  operationId: "listHistory",
  summary: "List the visitor's conversations",
  description:
    "Lists the sessions with the public key's bot that belong to the verified visitor, last active first, 20 in a page. The checks run in the order of chat's.",
  isLimited: true,
  responses: { ...REFUSALS, 200: json("A page of sessions.", SessionsPage) },
};

const LIST_MESSAGES: Operation = {
  operationId: "readHistory",
  summary: "Read a conversation of the visitor",
  description:
    "Returns the newest messages of a session that belongs to the verified visitor, or those before a message; at most 50 in a page, fewer if they are long.",
  isLimited: true,
  responses: {
    ...REFUSALS,
    200: json("A page of messages.", MessagesPage),
    404: refused(
      "The session does not belong to the verified visitor or to the public key's bot, was deleted, does not exist, or is not a UUID. The response is identical in all cases.",
      "session_not_found",
    ),
  },
};

/** GET /api/chat/sessions/ and GET /api/chat/sessions/{session_id}/messages/: a verified visitor's own conversations. */
export function historyRoutes(app: FastifyInstance, deps: HistoryDeps): void {
  const shared = {
    method: "GET" as const,
    config: { cors: true, visitorToken: true },
    onRequest: deps.malformedRequests.refuseOverLimit,
  };
  endpoint(app, {
    ...shared,
    url: "/api/chat/sessions/",
    schema: { querystring: SessionsQuery },
    operation: LIST_SESSIONS,
    handler: async (request, reply): Promise<Static<typeof SessionsPage>> => {
      const { public_key: publicKey, cursor: pageToken = "" } = request.query;
      const visitor = await identify(deps, publicKey, request, reply);
      const { sessions, nextPageToken } = await deps.conversation
        .listVisitorSessions({ ...visitor, pageToken }, { timeoutMs: TIMEOUT_MS })
        .catch((error: unknown) => {
          throw translateSessionQueryError(error);
        });
      reply.header("cache-control", "no-store");
      return { sessions: sessions.map(toSession), next_cursor: nextPageToken === "" ? null : nextPageToken };
    },
  });
  endpoint(app, {
    ...shared,
    url: "/api/chat/sessions/:session_id/messages/",
    schema: { params: SessionParams, querystring: MessagesQuery },
    operation: LIST_MESSAGES,
    handler: async (request, reply): Promise<Static<typeof MessagesPage>> => {
      const { public_key: publicKey, before = "0" } = request.query;
      const visitor = await identify(deps, publicKey, request, reply);
      const sessionId = request.params.session_id.toLowerCase();
      if (!isUuid(sessionId)) throw sessionNotFound();
      const { messages, nextBefore } = await deps.conversation
        .listVisitorMessages({ ...visitor, sessionId, before: BigInt(before) }, { timeoutMs: TIMEOUT_MS })
        .catch((error: unknown) => {
          throw isParleyError(error, status.NOT_FOUND) ? sessionNotFound(error) : unavailableError(error);
        });
      reply.header("cache-control", "no-store");
      return { messages: messages.map(toMessage), next_before: nextBefore === 0n ? null : String(nextBefore) };
    },
  });
}

/** Returns the verified visitor of a request, after the checks that precede chat's look-up of the session, in the same order. */
async function identify(
  deps: HistoryDeps,
  publicKey: string,
  request: Pick<FastifyRequest, "ip" | "headers" | "publicKey">,
  reply: FastifyReply,
) {
  const { workspaceId, botId, identifyVisitor } = await admitVisitor(deps, { request, reply, publicKey });
  const visitorId = await requireVerifiedVisitor(identifyVisitor, request.headers.authorization);
  return { workspaceId, botId, visitorId };
}

function toSession(session: VisitorSession): Static<typeof HistorySession> {
  return {
    id: session.id,
    title: session.title,
    started_at: session.startedAt,
    last_activity_at: session.lastActivityAt,
  };
}

function toMessage(message: VisitorMessage): Static<typeof HistoryMessage> {
  const shown = { id: String(message.id), content: message.content, created_at: message.createdAt };
  if (!message.isReply) return { ...shown, role: "user" };
  const outcome = outcomeFromProto(message.outcome);
  const code = outcome && toErrorCode(outcome, message.errorCode);
  return {
    ...shown,
    role: "assistant",
    ...(outcome && { finish_reason: OUTCOMES[outcome].finishReason }),
    ...(message.agent && { agent: { name: message.agent.name } }),
    ...(code && { code }),
    rating: message.rating as "" | "up" | "down",
    ...(message.sources.length > 0 && { sources: message.sources.map(toShownSource) }),
  };
}
