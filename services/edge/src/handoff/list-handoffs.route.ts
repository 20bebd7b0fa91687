import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RpcClient } from "@parley/rpc";
import {
  AgentSchema,
  type Colleague,
  type HandedOffSession,
  HandoffService,
  HandoffState,
  type ListHandoffsRequestSchema,
} from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import type { Caller } from "@parley/service-kit";
import type { FastifyInstance } from "fastify";
import Type, { type Static } from "typebox";
import { type AuthDeps, operatorEndpoint, userBucket } from "../auth/index.ts";
import { eventStream, INVALID_PARAMETER, json, unavailableError } from "../http/index.ts";
import { type LiveBus, serveLiveStream } from "../live/index.ts";
import { POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import type { StreamRegistry } from "../streams/index.ts";
import { followHandoffs } from "./follow-handoffs.service.ts";
import { Agent, COUNTED, OwnedState, text, toOwnedState, translateError } from "./owned-handoff.ts";

export type ListHandoffsDeps = AuthDeps & {
  limiter: RateLimiter;
  handoffs: Pick<RpcClient<typeof HandoffService>, "listHandoffs">;
  liveBus: LiveBus;
  streams: StreamRegistry;
};

type ListRequest = MessageInitShape<typeof ListHandoffsRequestSchema>;

const TIMEOUT_MS = 3_000;
const MAX_ID_CHARACTERS = limitsOf(AgentSchema.field.id).max;
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
              id: Type.String({ format: "uuid", description: "Send it as `contact_id` of `contact_done`." }),
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
  agents: Type.Array(
    Type.Object(
      {
        ...Agent.properties,
        is_here: Type.Boolean({ description: "Whether the person followed the list in the last 30 s." }),
      },
      { title: "Colleague" },
    ),
    {
      description:
        "The people of the team who followed the list with `agent_name` in the last 30 days, at most 200, by name.",
    },
  ),
});

const FollowQuery = Type.Object(
  {
    agent_name: Type.Optional(
      text(200, "Lists the caller among the `agents` with this name, unless its role is `viewer`."),
    ),
  },
  { additionalProperties: false },
);

/** The lists of conversations with people: as a response, and as a stream. */
export function listHandoffsRoutes(app: FastifyInstance, deps: ListHandoffsDeps): void {
  const shared = { policy: POLICIES.handoffs, counted: COUNTED, calls: method.listHandoffs };
  const list = async (request: ListRequest): Promise<Static<typeof Listed>> => {
    const { sessions, colleagues } = await deps.handoffs.listHandoffs(request, { timeoutMs: TIMEOUT_MS });
    return { conversations: sessions.map(toListed), agents: colleagues.map(toColleague) };
  };
  operatorEndpoint(app, deps, {
    ...shared,
    method: "GET",
    url: "/api/handoffs/",
    schema: {},
    operation: {
      operationId: "listHandoffs",
      summary: "List conversations with people",
      description:
        "Lists the conversations that wait for a person, then those that have one, then those in which the bot answers and the visitor has left a message for the team; in each group, those that have been so for the longest time first, at most 500 in each. Needs the role `viewer`, `agent` or `owner`.",
      responses: { 200: json("The conversations.", Listed) },
    },
    handler: async (_request, reply, { workspaceId }) => {
      const listed = await list({ workspaceId }).catch(translateError);
      reply.header("cache-control", "no-store");
      return listed;
    },
  });
  operatorEndpoint(app, deps, {
    ...shared,
    method: "GET",
    url: "/api/handoffs/live/",
    schema: { querystring: FollowQuery },
    operation: {
      operationId: "followHandoffs",
      summary: "Follow the conversations with people",
      description:
        "Streams the list of conversations with people, at first and whenever a conversation enters or leaves it, changes its state or has a new message or note, and whenever a colleague comes or goes. The stream ends after 10 minutes at the latest: connect again. Needs the role `viewer`, `agent` or `owner`.",
      responses: {
        200: eventStream(
          "`handoffs` with the whole list. After 15 s of silence a comment line keeps the connection alive.",
          { handoffs: Listed },
        ),
        400: INVALID_PARAMETER,
      },
    },
    handler: async (request, reply, caller) => {
      const { workspaceId } = caller;
      const follower = followerOf(caller, request.query.agent_name);
      const listForCaller = () => list({ workspaceId, ...(follower && { follower }) });
      await serveLiveStream(
        deps.streams,
        { request, reply, bucket: userBucket(caller), isVisitor: false },
        {
          readFirst: () => listForCaller().catch(translateError),
          follow: (writer, first, signal) =>
            followHandoffs({ bus: deps.liveBus, list: listForCaller }, workspaceId, writer, { first, signal }),
        },
      );
      return reply;
    },
  });
}

/** Returns the caller as a person who may answer visitors. The ids of some identity providers are too long for an agent's. */
function followerOf({ role, userId }: Caller, name: string | undefined): Static<typeof Agent> | undefined {
  const mayAnswer = role !== "viewer" && userId.length <= MAX_ID_CHARACTERS;
  return name !== undefined && mayAnswer ? { id: userId, name } : undefined;
}

function toColleague({ agent, isHere }: Colleague) {
  if (agent === undefined) throw unavailableError(undefined);
  return { id: agent.id, name: agent.name, is_here: isHere };
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
      contact: { id: contact.id, email: contact.email, excerpt: contact.message, created_at: contact.createdAt },
    }),
  };
}
