import type { RpcClient } from "@parley/rpc";
import { type HandedOffSession, HandoffService, HandoffState } from "@parley/rpc/conversation";
import type { FastifyInstance } from "fastify";
import Type, { type Static } from "typebox";
import { type AuthDeps, operatorEndpoint, userBucket } from "../auth/index.ts";
import { eventStream, json, NO_STORE, unavailableError } from "../http/index.ts";
import { type LiveBus, serveLiveStream } from "../live/index.ts";
import { POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import type { StreamRegistry } from "../streams/index.ts";
import { followHandoffs } from "./follow-handoffs.service.ts";
import { COUNTED, OwnedState, toOwnedState, translateError } from "./owned-handoff.ts";

export type ListHandoffsDeps = AuthDeps & {
  limiter: RateLimiter;
  handoffs: Pick<RpcClient<typeof HandoffService>, "listHandoffs">;
  liveBus: LiveBus;
  streams: StreamRegistry;
};

const TIMEOUT_MS = 3_000;
const { method } = HandoffService;

const Listed = Type.Object({
  conversations: Type.Array(
    Type.Object(
      {
        id: Type.String({ format: "uuid" }),
        bot_slug: Type.String(),
        visitor_id: Type.String(),
        last_activity_at: Type.String(),
        excerpt: Type.String({ description: "The beginning of the visitor's last message, at most 160 characters." }),
        notes: Type.Integer({ description: "How many private notes of the team it has." }),
        since: Type.String({ description: "When the state last changed; if the bot answers, `contact.created_at`." }),
        handoff: OwnedState,
        contact: Type.Optional(
          Type.Object(
            {
              email: Type.String({ description: "Where the team replies." }),
              excerpt: Type.String({ description: "The beginning of the text, at most 160 characters." }),
              created_at: Type.String(),
            },
            {
              title: "Contact",
              description:
                "The last message that the visitor left with `/api/chat/contact/`; absent if there is none that the team is not done with.",
            },
          ),
        ),
      },
      { title: "HandedOffConversation" },
    ),
  ),
});

/** The lists of conversations with people: as a response, and as a stream. */
export function listHandoffsRoutes(app: FastifyInstance, deps: ListHandoffsDeps): void {
  const shared = { policy: POLICIES.handoffs, counted: COUNTED, calls: method.listHandoffs, schema: {} };
  const list = async (workspaceId: string): Promise<Static<typeof Listed>> => {
    const { sessions } = await deps.handoffs.listHandoffs({ workspaceId }, { timeoutMs: TIMEOUT_MS });
    return { conversations: sessions.map(toListed) };
  };
  operatorEndpoint(app, deps, {
    ...shared,
    method: "GET",
    url: "/api/handoffs/",
    operation: {
      operationId: "listHandoffs",
      summary: "List conversations with people",
      description:
        "Lists the conversations that wait for a person, then those that have one, then those in which the bot answers and the visitor has left a message for the team; in each group, those that have been so for the longest time first, at most 500 in each. Needs the role `viewer`, `agent` or `owner`.",
      responses: { 200: json("The conversations.", Listed, NO_STORE as never) },
    },
    handler: async (_request, reply, { workspaceId }) => {
      const listed = await list(workspaceId).catch(translateError);
      reply.header("cache-control", "no-store");
      return listed;
    },
  });
  operatorEndpoint(app, deps, {
    ...shared,
    method: "GET",
    url: "/api/handoffs/live/",
    operation: {
      operationId: "followHandoffs",
      summary: "Follow the conversations with people",
      description:
        "Streams the list of conversations with people, at first and whenever a conversation enters or leaves it, changes its state or has a new message or note. The stream ends after 10 minutes at the latest: connect again. Needs the role `viewer`, `agent` or `owner`.",
      responses: {
        200: eventStream(
          "`handoffs` with the whole list. After 15 s of silence a comment line keeps the connection alive.",
          { handoffs: Listed },
        ),
      },
    },
    handler: async (request, reply, caller) => {
      const { workspaceId } = caller;
      await serveLiveStream(
        deps.streams,
        { request, reply, bucket: userBucket(caller), isVisitor: false },
        {
          readFirst: () => list(workspaceId).catch(translateError),
          follow: (writer, first, signal) =>
            followHandoffs({ bus: deps.liveBus, list }, workspaceId, writer, { first, signal }),
        },
      );
      return reply;
    },
  });
}

function toListed({ id, botSlug, visitorId, lastActivityAt, excerpt, notes, handoff, contact }: HandedOffSession) {
  if (handoff === undefined) throw unavailableError(undefined);
  const changedAt = new Date(Number(handoff.changedAtMicroseconds / 1_000n)).toISOString();
  const since = handoff.state === HandoffState.BOT && contact ? contact.createdAt : changedAt;
  return {
    id,
    bot_slug: botSlug,
    visitor_id: visitorId,
    last_activity_at: lastActivityAt,
    excerpt,
    notes,
    since,
    handoff: toOwnedState(handoff),
    ...(contact && {
      contact: { email: contact.email, excerpt: contact.message, created_at: contact.createdAt },
    }),
  };
}
