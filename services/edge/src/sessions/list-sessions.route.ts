import { isParleyError, type RpcClient, status } from "@parley/rpc";
import { SessionAdminService, type SessionSummary } from "@parley/rpc/conversation";
import type { FastifyInstance } from "fastify";
import Type, { type Static } from "typebox";
import { type AuthDeps, operatorEndpoint } from "../auth/index.ts";
import { INVALID_PARAMETER, invalidParameter, json, unavailableError } from "../http/index.ts";
import { POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import { ListQuery, toList } from "./session-query.ts";
import { Session } from "./transcript.ts";

export type SessionDeps = AuthDeps & { limiter: RateLimiter; sessions: RpcClient<typeof SessionAdminService> };

const LIST_TIMEOUT_MS = 5_000;

const Conversation = Type.Object(
  {
    ...Session.properties,
    visitor_verified: Type.Boolean({
      description:
        "Whether a `visitor_token` has verified `visitor_id`. Otherwise any script of the site could set it.",
    }),
    message_count: Type.Integer({ minimum: 0, description: "How many messages the transcript has." }),
    rating: Type.Enum(["", "up", "down"], {
      description: "`down` if any reply is rated down, `up` if only up, empty if none is rated.",
    }),
    review: Type.Enum(["", "good", "bad"], {
      description:
        "An owner's review: `bad` if any reply is reviewed as bad, `good` if only as good, empty if none is reviewed.",
    }),
    excerpt: Type.String({
      description:
        "The beginning of the first message; with `q`, the surroundings of the text's first occurrence. At most 160 characters.",
    }),
  },
  { title: "Conversation" },
);

const Page = Type.Object({
  conversations: Type.Array(Conversation),
  next_cursor: Type.Unsafe<string | null>({ type: ["string", "null"], description: "null after the last page." }),
});

/** What POLICIES.conversations counts. */
export const COUNTED = "requests to list, delete and erase";

/** GET /api/conversations/: lists the sessions of the caller's workspace, the most recently active first. */
export function listSessionsRoute(app: FastifyInstance, deps: SessionDeps): void {
  operatorEndpoint(app, deps, {
    method: "GET",
    url: "/api/conversations/",
    policy: POLICIES.conversations,
    counted: COUNTED,
    calls: SessionAdminService.method.listSessions,
    schema: { querystring: ListQuery },
    operation: {
      operationId: "listConversations",
      summary: "List and search conversations",
      description:
        "Lists the sessions of the caller's workspace, last active first. Needs the role `viewer`, `agent` or `owner`. A page may hold fewer conversations than `limit`, even none, and still have a next page.",
      responses: { 200: json("A page of conversations.", Page), 400: INVALID_PARAMETER },
    },
    handler: async ({ query }, reply, { workspaceId }): Promise<Static<typeof Page>> => {
      const { sessions, nextPageToken } = await deps.sessions
        .listSessions({ workspaceId, ...toList(query) }, { timeoutMs: LIST_TIMEOUT_MS })
        .catch((error: unknown) => {
          throw translateSessionQueryError(error);
        });
      reply.header("cache-control", "no-store");
      return { conversations: sessions.map(toJson), next_cursor: nextPageToken === "" ? null : nextPageToken };
    },
  });
}

/** Translates an error of ListSessions or ExportSessions. INVALID_ARGUMENT means that the cursor is invalid, because the edge has checked the other parameters. */
export function translateSessionQueryError(error: unknown) {
  const isInvalid = isParleyError(error, status.INVALID_ARGUMENT);
  return isInvalid ? invalidParameter("cursor", { cause: error }) : unavailableError(error);
}

function toJson(session: SessionSummary): Static<typeof Conversation> {
  return {
    id: session.id,
    bot_slug: session.botSlug,
    source: session.source as Static<typeof Conversation>["source"],
    visitor_id: session.visitorId,
    visitor_metadata: JSON.parse(session.visitorMetadata) as object,
    referrer: session.referrer,
    user_agent: session.userAgent,
    started_at: session.startedAt,
    last_activity_at: session.lastActivityAt,
    visitor_verified: session.visitorVerified,
    message_count: session.messageCount,
    rating: session.rating as Static<typeof Conversation>["rating"],
    review: session.review as Static<typeof Conversation>["review"],
    excerpt: session.excerpt,
  };
}
