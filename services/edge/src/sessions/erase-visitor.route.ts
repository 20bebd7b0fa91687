import { randomUUID } from "node:crypto";
import { SessionAdminService } from "@parley/rpc/conversation";
import type { FastifyInstance } from "fastify";
import Type, { type Static } from "typebox";
import { operatorEndpoint } from "../auth/index.ts";
import { json, refused, unavailableError } from "../http/index.ts";
import { POLICIES } from "../rate-limits/index.ts";
import { MAX_VISITOR_ID_CHARACTERS } from "../visitors/index.ts";
import { COUNTED, type SessionDeps } from "./list-sessions.route.ts";
import { NoQuery } from "./session-query.ts";

const TIMEOUT_MS = 10_000;
/** Has room for the longest id with every character escaped as `\u…`. */
const MAX_BODY_BYTES = 16 * 1024;

/** Unknown fields are refused, because a caller may expect that such a field limits the erasure. */
const ErasureRequest = Type.Object(
  { visitor_id: Type.String({ minLength: 1, maxLength: MAX_VISITOR_ID_CHARACTERS }) },
  { additionalProperties: false },
);

const Erasure = Type.Object({
  conversations: Type.Integer({
    minimum: 0,
    description: "How many conversations the visitor has now, deleted ones included.",
  }),
  request_id: Type.String({ format: "uuid", description: "Identifies the request in the service's log." }),
});

/** POST /api/conversations/erase/: permanently erases a visitor's sessions. Responds after the erasure request is stored. */
export function eraseVisitorRoute(app: FastifyInstance, deps: SessionDeps): void {
  operatorEndpoint(app, deps, {
    method: "POST",
    url: "/api/conversations/erase/",
    policy: POLICIES.conversations,
    counted: COUNTED,
    calls: SessionAdminService.method.eraseVisitor,
    bodyLimit: MAX_BODY_BYTES,
    schema: { querystring: NoQuery, body: ErasureRequest },
    operation: {
      operationId: "eraseVisitor",
      summary: "Erase a visitor's conversations",
      description:
        "Permanently erases every conversation of a visitor that started before the request, including deleted ones. The service stores the request, and retries the erasure until all these conversations are erased. Needs the role `owner`.",
      responses: {
        202: json("The request is stored.", Erasure),
        400: refused(
          `The request has a query parameter (\`invalid_parameter\`), or the body is not JSON (\`invalid_json\`). \`invalid_message\`: \`visitor_id\` is missing, empty or longer than ${MAX_VISITOR_ID_CHARACTERS} characters, or another field is present.`,
          "invalid_parameter",
          "invalid_json",
          "invalid_message",
        ),
      },
    },
    handler: async ({ body }, reply, { workspaceId, userId: member }): Promise<Static<typeof Erasure>> => {
      // The conversation service stores one erasure per request id, even if the call is repeated.
      const requestId = randomUUID();
      const { sessions } = await deps.sessions
        .eraseVisitor({ workspaceId, requestId, visitorId: body.visitor_id, member }, { timeoutMs: TIMEOUT_MS })
        .catch((error: unknown) => {
          throw unavailableError(error);
        });
      reply.code(202).header("cache-control", "no-store");
      return { conversations: Number(sessions), request_id: requestId };
    },
  });
}
