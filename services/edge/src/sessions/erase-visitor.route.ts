import { randomUUID } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { authenticateOrCountFailure, requireOwner, userBucket } from "../auth/index.ts";
import { MAX_VISITOR_ID_CHARACTERS } from "../chat/index.ts";
import { endpoint, invalidMessage, parseJsonObject, unavailableError } from "../http/index.ts";
import { enforceRateLimit, POLICIES } from "../rate-limits/index.ts";
import type { SessionDeps } from "./list-sessions.route.ts";
import { parseQuery } from "./session-query.ts";

const TIMEOUT_MS = 10_000;
/** Has room for the longest id with every character escaped as `\u…`. */
const MAX_BODY_BYTES = 16 * 1024;

/** POST /api/conversations/erase/: permanently erases a visitor's sessions. Responds after the erasure request is stored. */
export function eraseVisitorRoute(app: FastifyInstance, deps: SessionDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/conversations/erase/",
    config: { errorKey: "detail" },
    bodyLimit: MAX_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    handler: async (request, reply) => {
      const caller = await authenticateOrCountFailure(deps, request, reply, POLICIES.conversations);
      parseQuery(request.query, []);
      const visitorId = parseVisitorId(request.body as Buffer | undefined);
      requireOwner(caller);
      await enforceRateLimit(deps.limiter, POLICIES.conversations, userBucket(caller), reply);
      const { workspaceId, userId: member } = caller;
      // The conversation service stores one erasure per request id, even if the call is repeated.
      const requestId = randomUUID();
      const { sessions } = await deps.conversation
        .eraseVisitor({ workspaceId, requestId, visitorId, member }, { timeoutMs: TIMEOUT_MS })
        .catch((error: unknown) => {
          throw unavailableError(error);
        });
      reply.code(202).header("cache-control", "no-store");
      return { conversations: Number(sessions), request_id: requestId };
    },
  });
}

/** Refuses unknown fields, because a caller may expect that such a field limits the erasure. */
function parseVisitorId(bytes: Uint8Array | undefined): string {
  const { visitor_id: visitorId, ...others } = parseJsonObject(bytes);
  const [other] = Object.keys(others);
  if (other !== undefined) throw invalidMessage(other);
  if (typeof visitorId !== "string" || visitorId === "" || [...visitorId].length > MAX_VISITOR_ID_CHARACTERS)
    throw invalidMessage("visitor_id");
  return visitorId;
}
