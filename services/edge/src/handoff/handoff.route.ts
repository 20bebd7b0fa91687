import type { RpcClient } from "@parley/rpc";
import { HandoffService, PostMessageRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import type { FastifyInstance } from "fastify";
import Type, { type Static } from "typebox";
import { v7 as uuidv7 } from "uuid";
import { type AuthDeps, operatorEndpoint } from "../auth/index.ts";
import { HttpError, json, MAX_SMALL_BODY_BYTES, refused, unavailableError } from "../http/index.ts";
import type { LiveBus } from "../live/index.ts";
import { POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import {
  Agent,
  COUNTED,
  INVALID,
  MAX_MESSAGE_BYTES,
  OwnedState,
  Params,
  requireOwnName,
  requireSessionId,
  text,
  toOwnedState,
  translateError,
} from "./owned-handoff.ts";
import { cancelRunningReplies, type TakeOverDeps } from "./take-over.service.ts";

export type HandoffDeps = AuthDeps &
  TakeOverDeps & {
    limiter: RateLimiter;
    handoffs: RpcClient<typeof HandoffService>;
    liveBus: LiveBus;
  };

const TIMEOUT_MS = 3_000;
const { method } = HandoffService;

const SESSION_NOT_FOUND = refused(
  "The session does not exist, was deleted, belongs to another workspace or to the playground, or is not a UUID.",
  "session_not_found",
);
const Change = Type.Object(
  {
    action: Type.Enum(["take", "assign", "resolve", "contact_done", "typing"], {
      description:
        "`take`: the agent answers, unless another one does. `assign`: the agent answers, whoever did before. `resolve`: the bot answers again. `contact_done`: the team is done with what the visitor left with `/api/chat/contact/`, up to the message `contact_id`; if the visitor has left a later one, nothing changes. `typing`: shows the visitor for 5 s that the agent, who has the conversation, is typing.",
    }),
    agent: Type.Optional(Agent),
    contact_id: Type.Optional(
      Type.String({
        format: "uuid",
        description: "Of `contact_done`, which needs it: the `id` of the last such message that the team has read.",
      }),
    ),
  },
  {
    title: "HandoffChange",
    if: { properties: { action: { enum: ["resolve", "contact_done"] } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: {
      if: { properties: { action: { const: "contact_done" } } },
      // biome-ignore lint/suspicious/noThenProperty: as above
      then: { required: ["contact_id"] },
    },
    else: { required: ["agent"] },
  },
);

const Message = Type.Object(
  {
    text: text(limitsOf(PostMessageRequestSchema.field.text).max, "The message."),
    agent: Agent,
    request_id: Type.Optional(
      Type.String({
        format: "uuid",
        description: "A UUID of this message. A repeated request with the same one stores nothing.",
      }),
    ),
  },
  { title: "AgentMessage" },
);

/** The owner API for people who answer visitors. */
export function handoffRoutes(app: FastifyInstance, deps: HandoffDeps): void {
  const shared = { policy: POLICIES.handoffs, counted: COUNTED };
  operatorEndpoint(app, deps, {
    ...shared,
    method: "POST",
    url: "/api/conversations/:session_id/handoff/",
    bodyLimit: MAX_SMALL_BODY_BYTES,
    calls: method.changeHandoff,
    schema: { params: Params, body: Change },
    operation: {
      operationId: "changeHandoff",
      summary: "Take over, assign or resolve a conversation",
      description:
        "Changes who answers the visitor, and returns it. A takeover cancels a running reply of the bot; what the visitor has of it is kept. Needs the role `agent` or `owner`. With the role `agent`, `take` and `typing` need the `sub` of the token as the agent's `id`.",
      responses: {
        200: json("Who answers the visitor.", OwnedState),
        400: INVALID,
        404: SESSION_NOT_FOUND,
        409: {
          ...refused(
            "Another agent has the conversation (`already_assigned`); or the agent is typing, and does not have the conversation (`not_assigned`).",
            "already_assigned",
            "not_assigned",
          ),
          fields: { agent: Agent },
        },
      },
    },
    handler: async ({ params, body, log }, reply, caller): Promise<Static<typeof OwnedState>> => {
      const { workspaceId } = caller;
      const sessionId = requireSessionId(params.session_id);
      const session = { workspaceId, sessionId };
      reply.header("cache-control", "no-store");
      const { action, agent } = body;
      const contactId = body.contact_id?.toLowerCase() ?? "";
      if (action === "take" || action === "typing") requireOwnName(caller, agent);
      const { handoff, isTaken } = await deps.handoffs
        .changeHandoff(
          { ...session, action, contactId, member: caller.userId, ...(agent && { agent }) },
          { timeoutMs: TIMEOUT_MS },
        )
        .catch(translateError);
      if (handoff === undefined) throw unavailableError(undefined);
      const state = toOwnedState(handoff);
      if (action === "typing") {
        deps.liveBus.publish({ ...session, type: "typing", name: agent?.name ?? "" });
        return state;
      }
      if (isTaken) throw new HttpError(409, "already_assigned", {}, { fields: { agent: state.agent } });
      if (action === "take" || action === "assign") await cancelRunningReplies(deps, session, log);
      deps.liveBus.publish({ ...session, type: "changed" });
      return state;
    },
  });
  operatorEndpoint(app, deps, {
    ...shared,
    method: "POST",
    url: "/api/conversations/:session_id/messages/",
    bodyLimit: MAX_MESSAGE_BYTES,
    calls: method.postMessage,
    schema: { params: Params, body: Message },
    operation: {
      operationId: "postMessage",
      summary: "Answer a visitor",
      description:
        "Stores a message of the agent who has the conversation, and shows it to the visitor. Needs the role `agent` or `owner`. With the role `agent`, the agent's `id` must be the `sub` of the token.",
      responses: {
        200: json("The stored message.", Type.Object({ id: Type.String({ description: "The message's id." }) })),
        400: INVALID,
        404: SESSION_NOT_FOUND,
        409: refused("The conversation is not assigned to the agent.", "not_assigned"),
      },
    },
    handler: async ({ params, body }, reply, caller) => {
      const session = { workspaceId: caller.workspaceId, sessionId: requireSessionId(params.session_id) };
      const { text, agent, request_id: requestId = uuidv7() } = body;
      requireOwnName(caller, agent);
      const { messageId } = await deps.handoffs
        .postMessage({ ...session, requestId, text, agent }, { timeoutMs: TIMEOUT_MS })
        .catch(translateError);
      deps.liveBus.publish({ ...session, type: "changed" });
      reply.header("cache-control", "no-store");
      return { id: String(messageId) };
    },
  });
}
