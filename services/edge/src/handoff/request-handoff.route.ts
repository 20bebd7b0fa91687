import type { RpcClient } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import type { FastifyInstance } from "fastify";
import Type, { type Static } from "typebox";
import { admitVisitor, type KeyResolver } from "../auth/index.ts";
import { PublicKey, SessionId } from "../chat/index.ts";
import {
  endpoint,
  inKiB,
  json,
  MAX_SMALL_BODY_BYTES,
  type Operation,
  refused,
  unavailableError,
} from "../http/index.ts";
import { HANDOFF_REFUSALS, type LiveBus, translateHandoffError } from "../live/index.ts";
import type { MalformedRequestLimiter, RateLimiter } from "../rate-limits/index.ts";
import { HandoffState, toHandoffBody } from "../turns/index.ts";
import { VisitorToken } from "../visitors/index.ts";

export type RequestHandoffDeps = {
  limiter: RateLimiter;
  malformedRequests: MalformedRequestLimiter;
  resolveKey: KeyResolver;
  conversation: RpcClient<typeof ConversationService>;
  liveBus: LiveBus;
};

const TIMEOUT_MS = 3_000;

const HandoffRequest = Type.Object(
  { public_key: PublicKey, session_id: SessionId, visitor_token: VisitorToken },
  { title: "HandoffRequest", description: `The session. At most ${inKiB(MAX_SMALL_BODY_BYTES)}.` },
);

const REQUEST: Operation = {
  operationId: "requestHandoff",
  summary: "Ask for a person",
  description:
    "Asks for a person of the team, and returns who answers now: `requested`, or `bot` with the reason `closed` outside of the bot's hours. If the visitor waits for a person or has one already, nothing changes. Follow `/api/chat/live/` for what happens next.",
  isLimited: true,
  responses: {
    ...HANDOFF_REFUSALS,
    200: json("Who answers the visitor.", HandoffState),
    409: refused(
      "The bot has no handoff (`handoff_off`); or the request has a `visitor_token`, and the session another `visitor_id` (`visitor_mismatch`).",
      "handoff_off",
      "visitor_mismatch",
    ),
  },
};

/** POST /api/chat/handoff/: asks for a person on behalf of a visitor. */
export function requestHandoffRoute(app: FastifyInstance, deps: RequestHandoffDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/chat/handoff/",
    config: { cors: true },
    bodyLimit: MAX_SMALL_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    schema: { body: HandoffRequest },
    operation: REQUEST,
    handler: async (request, reply): Promise<Static<typeof HandoffState>> => {
      const { public_key: publicKey, session_id, visitor_token } = request.body;
      const visitor = { request, reply, publicKey };
      const { workspaceId, botId, identifyVisitor } = await admitVisitor(deps, visitor);
      const { visitorId, visitorVerified } = await identifyVisitor({ visitor_token });
      const sessionId = session_id.toLowerCase();
      const { handoff } = await deps.conversation
        .requestHandoff({ workspaceId, botId, sessionId, visitorId, visitorVerified }, { timeoutMs: TIMEOUT_MS })
        .catch((error: unknown) => {
          throw translateHandoffError(error);
        });
      deps.liveBus.publish({ workspaceId, sessionId, type: "changed" });
      reply.header("cache-control", "no-store");
      if (handoff === undefined) throw unavailableError(undefined);
      return toHandoffBody(handoff);
    },
  });
}
