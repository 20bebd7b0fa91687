import { isParleyError, type RpcClient, status } from "@parley/rpc";
import { type ConversationService, LeaveContactMessageRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import type { FastifyInstance } from "fastify";
import Type, { type Static } from "typebox";
import { v7 as uuidv7 } from "uuid";
import { admitVisitor, type KeyResolver } from "../auth/index.ts";
import { PublicKey, SessionId } from "../chat/index.ts";
import { endpoint, HttpError, inKiB, json, type Operation, refused, unavailableError } from "../http/index.ts";
import { HANDOFF_REFUSALS, type LiveBus, translateHandoffError } from "../live/index.ts";
import {
  countVisitorMessage,
  type HashClient,
  type MalformedRequestLimiter,
  POLICIES,
  type RateLimiter,
} from "../rate-limits/index.ts";
import { HandoffState, toHandoffBody } from "../turns/index.ts";
import { VisitorToken } from "../visitors/index.ts";

export type ContactMessageDeps = {
  limiter: RateLimiter;
  hashClient: HashClient;
  malformedRequests: MalformedRequestLimiter;
  resolveKey: KeyResolver;
  conversation: Pick<RpcClient<typeof ConversationService>, "leaveContactMessage">;
  liveBus: LiveBus;
};

const TIMEOUT_MS = 3_000;
const DAY_SECONDS = 24 * 60 * 60;
/** Large enough for the longest message in any script, with all its characters escaped as \uXXXX. */
const MAX_BODY_BYTES = 64 * 1024;
const MAX_MESSAGE_CHARACTERS = limitsOf(LeaveContactMessageRequestSchema.field.message).max;

const ContactMessage = Type.Object(
  {
    public_key: PublicKey,
    session_id: SessionId,
    email: Type.String({
      format: "email",
      description: "Where the team replies: one plain e-mail address of at most 254 characters.",
    }),
    message: Type.String({
      minLength: 1,
      "x-not-blank": true,
      maxLength: MAX_MESSAGE_CHARACTERS,
      description: `The text; not blank, at most ${MAX_MESSAGE_CHARACTERS} Unicode code points.`,
    }),
    request_id: Type.Optional(
      Type.String({
        format: "uuid",
        description: "A UUID of this message. A repeated request with the same one stores nothing.",
      }),
    ),
    visitor_token: VisitorToken,
  },
  { title: "ContactMessage", description: `What the visitor leaves. At most ${inKiB(MAX_BODY_BYTES)}.` },
);

const LEAVE: Operation = {
  operationId: "leaveContactMessage",
  summary: "Leave a message for the team",
  description:
    "Stores a message for the team, which replies by e-mail, and returns who answers now, with `contact_pending`. For a visitor for whom nobody is there: the `reason` is `closed`, `missed` or `unanswered`. A session may have 3 such messages. The bot does not read them.",
  isLimited: true,
  responses: {
    ...HANDOFF_REFUSALS,
    200: json("Who answers the visitor.", HandoffState),
    400: refused(
      "As for chat; or `email` is not one e-mail address (`invalid_email`).",
      "invalid_json",
      "invalid_message",
      "message_too_long",
      "invalid_email",
      "invalid_session_id",
    ),
    409: refused(
      "The bot has no handoff (`handoff_off`); the visitor has not agreed to the bot's consent (`consent_required`), which chat asks for; the session has 3 such messages (`contact_limit_reached`); or the request has a `visitor_token`, and the session another `visitor_id` (`visitor_mismatch`).",
      "handoff_off",
      "consent_required",
      "contact_limit_reached",
      "visitor_mismatch",
    ),
    429: refused(
      `As for chat; or the workspace got 1,000 such messages this UTC day (\`rate_limited\`); or the visitor sent more than ${POLICIES.contact.limit} in 24 hours (\`visitor_limit\`).`,
      "rate_limited",
      "visitor_limit",
    ),
  },
};

/** POST /api/chat/contact/: stores what a visitor leaves for the team. */
export function contactMessageRoute(app: FastifyInstance, deps: ContactMessageDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/chat/contact/",
    config: { cors: true },
    bodyLimit: MAX_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    schema: { body: ContactMessage },
    operation: LEAVE,
    handler: async (request, reply): Promise<Static<typeof HandoffState>> => {
      const { public_key: publicKey, session_id, visitor_token, email, message } = request.body;
      const visitor = { request, reply, publicKey };
      const { workspaceId, botId, bucket: clientBucket, identifyVisitor } = await admitVisitor(deps, visitor);
      const { visitorId, visitorVerified } = await identifyVisitor({ visitor_token });
      const sessionId = session_id.toLowerCase();
      const requestId = request.body.request_id?.toLowerCase() ?? uuidv7();
      const sender = { workspaceId, botId, sessionId, visitorId, visitorVerified };
      await countVisitorMessage(deps, { ...sender, clientBucket, messageId: requestId }, POLICIES.contact);
      const { handoff } = await deps.conversation
        .leaveContactMessage({ ...sender, requestId, email, message }, { timeoutMs: TIMEOUT_MS })
        .catch((error: unknown) => {
          throw translateError(error);
        });
      deps.liveBus.publish({ workspaceId, sessionId, type: "changed" });
      reply.header("cache-control", "no-store");
      if (handoff === undefined) throw unavailableError(undefined);
      return toHandoffBody(handoff);
    },
  });
}

function translateError(error: unknown): HttpError {
  if (!isParleyError(error, status.RESOURCE_EXHAUSTED) || error.code !== "daily_contact_limit_reached")
    return translateHandoffError(error);
  const secondsOfDay = Math.floor(Date.now() / 1_000) % DAY_SECONDS;
  const headers = { "retry-after": String(DAY_SECONDS - secondsOfDay) };
  return new HttpError(429, "rate_limited", headers, { reason: "workspace", cause: error });
}
