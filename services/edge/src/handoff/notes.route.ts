import { AddNoteRequestSchema, HandoffService, type Note } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import type { FastifyInstance } from "fastify";
import Type, { type Static } from "typebox";
import { v7 as uuidv7 } from "uuid";
import { operatorEndpoint } from "../auth/index.ts";
import { json, NO_STORE, refused, unavailableError } from "../http/index.ts";
import { POLICIES } from "../rate-limits/index.ts";
import type { HandoffDeps } from "./handoff.route.ts";
import {
  Agent,
  COUNTED,
  INVALID,
  MAX_MESSAGE_BYTES,
  Params,
  requireOwnName,
  requireSessionId,
  text,
  translateError,
} from "./owned-handoff.ts";

const TIMEOUT_MS = 3_000;
const { method } = HandoffService;
const SESSION_NOT_FOUND = refused(
  "The session does not exist, was deleted, belongs to another workspace, or is not a UUID.",
  "session_not_found",
);

const NewNote = Type.Object(
  {
    text: text(limitsOf(AddNoteRequestSchema.field.text).max, "The note."),
    agent: Agent,
    request_id: Type.Optional(
      Type.String({
        format: "uuid",
        description: "A UUID of this note. A repeated request with the same one stores nothing.",
      }),
    ),
  },
  { title: "NewNote" },
);

const Notes = Type.Object({
  notes: Type.Array(
    Type.Object(
      {
        id: Type.String(),
        text: Type.String(),
        created_at: Type.String({ description: "When the note was written." }),
        agent: Type.Object({ id: Type.String(), name: Type.String() }, { description: "The author." }),
        after_message_id: Type.String({ description: "The `id` of the conversation's last message at that time." }),
      },
      { title: "Note" },
    ),
  ),
});

/** The owner API for the team's private notes about a conversation. */
export function notesRoutes(app: FastifyInstance, deps: HandoffDeps): void {
  const shared = { policy: POLICIES.handoffs, counted: COUNTED, url: "/api/conversations/:session_id/notes/" };
  operatorEndpoint(app, deps, {
    ...shared,
    method: "GET",
    siblings: ["POST"],
    calls: method.listNotes,
    schema: { params: Params },
    operation: {
      operationId: "listNotes",
      summary: "List a conversation's private notes",
      description:
        "Lists the team's private notes about a conversation, oldest first. Needs the role `viewer`, `agent` or `owner`.",
      responses: { 200: json("The notes.", Notes), 404: SESSION_NOT_FOUND },
    },
    handler: async ({ params }, reply, { workspaceId }): Promise<Static<typeof Notes>> => {
      const sessionId = requireSessionId(params.session_id);
      const { notes } = await deps.handoffs
        .listNotes({ workspaceId, sessionId }, { timeoutMs: TIMEOUT_MS })
        .catch(translateError);
      reply.header("cache-control", "no-store");
      return { notes: notes.map(toNoteBody) };
    },
  });
  operatorEndpoint(app, deps, {
    ...shared,
    method: "POST",
    isSibling: true,
    bodyLimit: MAX_MESSAGE_BYTES,
    calls: method.addNote,
    schema: { params: Params, body: NewNote },
    operation: {
      operationId: "addNote",
      summary: "Add a private note to a conversation",
      description:
        "Adds a note that only the team can read: neither visitors nor models, exports and webhooks get it. Needs the role `agent` or `owner`. With the role `agent`, the agent's `id` must be the `sub` of the token.",
      responses: {
        204: { description: "The note is stored.", headers: NO_STORE },
        400: INVALID,
        404: SESSION_NOT_FOUND,
        409: refused("The conversation has 200 notes.", "too_many_notes"),
      },
    },
    handler: async ({ params, body }, reply, caller) => {
      const session = { workspaceId: caller.workspaceId, sessionId: requireSessionId(params.session_id) };
      const { text, agent: author, request_id: requestId = uuidv7() } = body;
      requireOwnName(caller, author);
      await deps.handoffs
        .addNote({ ...session, requestId, text, author, member: caller.userId }, { timeoutMs: TIMEOUT_MS })
        .catch(translateError);
      deps.liveBus.publish({ ...session, type: "changed" });
      return reply.code(204).header("cache-control", "no-store").send();
    },
  });
}

function toNoteBody({ id, text, createdAt, author, afterMessageId }: Note) {
  if (author === undefined) throw unavailableError(undefined);
  const agent = { id: author.id, name: author.name };
  return { id: String(id), text, created_at: createdAt, agent, after_message_id: String(afterMessageId) };
}
