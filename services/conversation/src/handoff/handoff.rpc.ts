import type { ServiceImplementation } from "@parley/rpc";
import type { Agent, ChangeHandoffRequest, HandoffService, PostMessageRequest } from "@parley/rpc/conversation";
import {
  type CallPool,
  type Database,
  invalidArgument,
  isUuid,
  isWorkspaceId,
  ServiceError,
} from "@parley/service-kit";
import { sessionNotFound, toContactMessage } from "../sessions/index.ts";
import { finishContactMessages } from "./contact-messages.store.ts";
import type { HandoffMetrics } from "./handoff.metrics.ts";
import { assignHandoff, type Change, readHandoffState, resolveHandoff, takeHandoff } from "./handoff.store.ts";
import { storeAgentMessage } from "./handoff-messages.store.ts";
import { toHandoffMessage } from "./handoff-state.store.ts";
import { HANDED_OFF_STATES, listHandoffs } from "./list-handoffs.store.ts";

export type HandoffHandlersDeps = { calls: CallPool; metrics: HandoffMetrics };

/** The calls of people who answer visitors. gRPC serves them to the edge. */
export function createHandoffHandlers({
  calls,
  metrics,
}: HandoffHandlersDeps): ServiceImplementation<typeof HandoffService> {
  return {
    async changeHandoff(request, { signal }) {
      requireSession(request);
      const database = calls.databaseFor(signal);
      const change = await applyAction(database, request);
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
    async listHandoffs({ workspaceId }, { signal }) {
      if (!isWorkspaceId(workspaceId)) return { sessions: [] };
      // Each open inbox reads the list every few seconds.
      calls.refuseIfOverloaded();
      const database = calls.databaseFor(signal);
      const lists = [];
      for (const state of HANDED_OFF_STATES) lists.push(await listHandoffs(database, workspaceId, state));
      return {
        sessions: lists.flat().map(({ handoff, contact, ...session }) => ({
          ...session,
          handoff: toHandoffMessage(handoff),
          ...(contact && { contact: toContactMessage(contact) }),
        })),
      };
    },
  };
}

async function applyAction(database: Database, request: ChangeHandoffRequest): Promise<Change | undefined> {
  if (request.action === "resolve") return resolveHandoff(database, request);
  if (request.action === "contact_done") {
    await finishContactMessages(database, request);
    return undefined;
  }
  const agent = requireAgent(request);
  if (request.action === "typing") return undefined;
  return request.action === "take" ? takeHandoff(database, request, agent) : assignHandoff(database, request, agent);
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
