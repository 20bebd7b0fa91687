import type { RpcClient } from "@parley/rpc";
import type { ConversationService, StoredTurn } from "@parley/rpc/conversation";
import type { FastifyBaseLogger } from "fastify";
import { type EdgeClients, TAKEOVER_TIMEOUT_MS } from "../edges/index.ts";
import type { TurnDeps } from "../turns/index.ts";

const LIST_TIMEOUT_MS = 3_000;

export type TakeOverDeps = {
  conversation: Pick<RpcClient<typeof ConversationService>, "listRunningTurns">;
  edges: Pick<EdgeClients, "cancel">;
  turnDeps: Pick<TurnDeps, "runningTurns" | "edgeId">;
};

/**
 * Cancels the running replies of a session that a person has taken over, as a stop of the visitor would: what was shown is kept. The
 * replies are not counted as the visitor's unpaid ones. Never throws. Waits at most 3 s for their ends. A
 * reply whose edge cannot be reached ends by itself or with the lease of that edge.
 */
export async function cancelRunningReplies(
  deps: TakeOverDeps,
  session: { workspaceId: string; sessionId: string },
  log: FastifyBaseLogger,
): Promise<void> {
  const warn = (error: unknown) =>
    log.warn({ error, workspace_id: session.workspaceId }, "reply not cancelled at takeover");
  try {
    const { turns } = await deps.conversation.listRunningTurns(session, { timeoutMs: LIST_TIMEOUT_MS });
    await Promise.all(turns.map((turn) => cancel(deps, session.workspaceId, turn).catch(warn)));
  } catch (error) {
    warn(error);
  }
}

async function cancel({ edges, turnDeps }: TakeOverDeps, workspaceId: string, turn: StoredTurn): Promise<void> {
  if (turn.edgeId === turnDeps.edgeId) await turnDeps.runningTurns.cancel(turn.turnId, TAKEOVER_TIMEOUT_MS, true);
  else await edges.cancel(workspaceId, turn, true);
}
