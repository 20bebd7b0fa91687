import { create } from "@bufbuild/protobuf";
import type { ServiceImplementation } from "@parley/rpc";
import {
  type Agent,
  type ChangeHandoffRequest,
  ChangeHandoffResponseSchema,
  HandoffService,
  type PostMessageRequest,
} from "@parley/rpc/conversation";
import {
  type AuditLog,
  type CallPool,
  type Database,
  describeCall,
  invalidArgument,
  isUuid,
  isWorkspaceId,
  type Queryable,
  ServiceError,
  transaction,
} from "@parley/service-kit";
import { sessionNotFound, toContactMessage } from "../sessions/index.ts";
import { listColleagues, seeAgent } from "./agents.store.ts";
import { finishContactMessages } from "./contact-messages.store.ts";
import type { HandoffMetrics } from "./handoff.metrics.ts";
import { assignHandoff, type Change, readHandoffState, resolveHandoff, takeHandoff } from "./handoff.store.ts";
import { storeAgentMessage } from "./handoff-messages.store.ts";
import { toHandoffMessage } from "./handoff-state.store.ts";
import { HANDED_OFF_STATES, listHandoffs } from "./list-handoffs.store.ts";
import { handleAddNote, handleListNotes } from "./notes.service.ts";

export type HandoffHandlersDeps = { calls: CallPool; metrics: HandoffMetrics; auditLog: Pick<AuditLog, "recordIn"> };

/** The calls of people who answer visitors. gRPC serves them to the edge. */
export function createHandoffHandlers({
  calls,
  metrics,
  auditLog,
}: HandoffHandlersDeps): ServiceImplementation<typeof HandoffService> {
  return {
    async changeHandoff(request, { signal }) {
      requireSession(request);
      const database = calls.databaseFor(signal);
      const change = await changeAndRecord(database, auditLog, request);
      if (change !== undefined) report(metrics, change);
      const handoff = change?.handoff ?? (await readHandoffState(database, request));
      if (handoff === undefined) throw sessionNotFound();
      const isOwn = handoff.state === "assigned" && handoff.agentId === request.agent?.id;
      if (request.action === "typing" && !isOwn) throw notAssigned();
      const isTaken = request.action === "take" && handoff.state === "assigned" && !isOwn;
      return { handoff: toHandoffMessage(handoff), isTaken };
    },
    async postMessage(request, { signal }) {
      requireSession(request);
      const database = calls.databaseFor(signal);
      const { workspaceId, sessionId, requestId, text } = request;
      const { id: agentId, name: agentName } = requireAgent(request);
      const message = { workspaceId, sessionId, requestId, text, agentId, agentName };
      const messageId = await storeAgentMessage(database, message);
      if (messageId !== undefined) return { messageId: BigInt(messageId) };
      if ((await readHandoffState(database, request)) === undefined) throw sessionNotFound();
      throw notAssigned();
    },
    addNote: (request, { signal }) => handleAddNote({ database: calls.databaseFor(signal), auditLog }, request),
    listNotes: (request, { signal }) => handleListNotes(calls.databaseFor(signal), request),
    async listHandoffs({ workspaceId, follower }, { signal }) {
      if (!isWorkspaceId(workspaceId)) return { sessions: [], colleagues: [] };
      // Each open inbox reads the list every few seconds.
      calls.refuseIfOverloaded();
      const database = calls.databaseFor(signal);
      if (follower !== undefined) await seeAgent(database, workspaceId, follower);
      const colleagues = await listColleagues(database, workspaceId);
      const lists = [];
      for (const state of HANDED_OFF_STATES) lists.push(await listHandoffs(database, workspaceId, state));
      return {
        sessions: lists.flat().map(({ handoff, contact, ...session }) => ({
          ...session,
          handoff: toHandoffMessage(handoff),
          ...(contact && { contact: toContactMessage(contact) }),
        })),
        colleagues: colleagues.map(({ id, name, isHere }) => ({ agent: { id, name }, isHere })),
      };
    },
  };
}

/** Changes the state, and adds an entry to the audit log in the same transaction. Returns undefined if there was nothing to change. */
async function changeAndRecord(
  database: Database,
  auditLog: Pick<AuditLog, "recordIn">,
  request: ChangeHandoffRequest,
): Promise<Change | undefined> {
  if (takesAgent(request)) requireAgent(request);
  if (request.action === "contact_done" && request.contactId === "") throw invalidArgument("contact_id must be set");
  // Changes nothing, and comes every few seconds.
  if (request.action === "typing") return undefined;
  return transaction(database, async (connection) => {
    const isContactDone = request.action === "contact_done" && (await finishContactMessages(connection, request));
    const change = await applyAction(connection, request);
    if (isContactDone || change !== undefined) await auditLog.recordIn(connection, describeChange(request));
    return change;
  });
}

const takesAgent = ({ action }: ChangeHandoffRequest) => action !== "resolve" && action !== "contact_done";

function describeChange(request: ChangeHandoffRequest) {
  const { member, action, agent } = request;
  const { changeHandoff } = HandoffService.method;
  const entry = describeCall(changeHandoff, member || undefined, request, create(ChangeHandoffResponseSchema));
  // Not the name: an erasure removes it.
  const agentId = takesAgent(request) && agent && { agent_id: agent.id };
  return { ...entry, target: { ...entry.target, action, ...agentId }, changedFields: [] };
}

async function applyAction(connection: Queryable, request: ChangeHandoffRequest): Promise<Change | undefined> {
  if (request.action === "contact_done") return undefined;
  if (request.action === "resolve") return resolveHandoff(connection, request);
  const agent = requireAgent(request);
  if (request.action === "take") return takeHandoff(connection, request, agent);
  // A member who takes a session over from a colleague has taken it.
  return assignHandoff(connection, request, agent, request.member === agent.id ? "taken" : "assigned");
}

function report(metrics: HandoffMetrics, change: Change): void {
  if (change.handoff.state === "assigned") {
    metrics.count("assigned");
    metrics.observeWait(change);
  } else metrics.count("resolved");
}

function requireSession({ workspaceId, sessionId }: ChangeHandoffRequest | PostMessageRequest): void {
  if (!isWorkspaceId(workspaceId) || !isUuid(sessionId)) throw sessionNotFound();
}

function notAssigned() {
  return new ServiceError("failed_precondition", "not_assigned", "the session is not assigned to the agent");
}

function requireAgent({ agent }: { agent?: Agent | undefined }): Agent {
  if (agent === undefined) throw invalidArgument("agent must be set");
  return agent;
}
