import { setImmediate as nextIteration } from "node:timers/promises";
import { isParleyError, type RpcClient, RpcError, status } from "@parley/rpc";
import type { ConversationService, StoredTurn } from "@parley/rpc/conversation";
import { type Outcome, outcomeFromProto } from "@parley/rpc/outcomes";
import type { EdgeClients } from "../edges/index.ts";
import { HttpError, unavailableError } from "../http/index.ts";
import {
  closeAbandonedTurn,
  type IdempotencyKey,
  readStoredReply,
  STOP_TIMEOUT_MS,
  type TurnDeps,
} from "../turns/index.ts";
import type { StopTarget } from "./stop-request.ts";
import { hashKey } from "./turn-key.ts";

export type StopDeps = { turnDeps: TurnDeps; edges: EdgeClients; conversation: RpcClient<typeof ConversationService> };

/** The session of the reply to stop, and the user. */
export type StopScope = {
  workspaceId: string;
  botId: string;
  sessionId: string;
  source: "widget" | "playground";
  /** The user of the playground; empty for a visitor. */
  userId: string;
  /** The verified visitor; empty for all other requests. */
  visitorId: string;
  visitorVerified: boolean;
};

const FIND_TIMEOUT_MS = 2_000;

/**
 * Cancels a reply, whichever edge runs it. Returns the stored outcome, which differs from `cancelled` if the reply had already ended, or if
 * no process runs the turn any more. Throws an HttpError.
 */
export async function stopTurn(deps: StopDeps, scope: StopScope, target: StopTarget): Promise<Outcome> {
  const { userId, ...session } = scope;
  const { workspaceId, source } = session;
  const targetFields = "key" in target ? { keyHash: hashKey(source, userId, target.key) } : target;
  if ("keyHash" in targetFields) await waitForOpening(deps.turnDeps, { ...session, ...targetFields });
  const find = () => findTurn(deps, { ...session, ...targetFields });
  const existing = await find();
  const stored = readStoredReply(existing);
  if (stored !== undefined) return stored.ending.outcome;
  return existing.edgeId === deps.turnDeps.edgeId
    ? cancelHere(deps, workspaceId, existing)
    : cancelElsewhere(deps, workspaceId, existing, find);
}

/** Waits while this process is opening the key's turn: before the turn is open, findTurn() does not find it in the database. */
async function waitForOpening({ runningTurns }: Pick<TurnDeps, "runningTurns">, key: IdempotencyKey): Promise<void> {
  for (let running = runningTurns.findReply(key); running !== undefined; running = runningTurns.findReply(key)) {
    const isOpen = await running.opening.then(
      () => true,
      () => false,
    );
    if (isOpen) return;
    // If the opening was refused, a waiting request with the key opens the turn.
    await nextIteration();
  }
}

type FindTurnInit = Parameters<StopDeps["conversation"]["findTurn"]>[0];

async function findTurn(deps: StopDeps, request: FindTurnInit): Promise<StoredTurn> {
  try {
    const { turn } = await deps.conversation.findTurn(request, { timeoutMs: FIND_TIMEOUT_MS });
    if (turn !== undefined) return turn;
  } catch (error) {
    if (isParleyError(error, status.FAILED_PRECONDITION)) throw new HttpError(409, error.code, {}, { cause: error });
    if (!isParleyError(error, status.NOT_FOUND)) throw unavailableError(error);
  }
  throw new HttpError(404, "message_not_found");
}

async function cancelHere({ turnDeps }: StopDeps, workspaceId: string, { turnId }: StoredTurn): Promise<Outcome> {
  if (turnDeps.runningTurns.get(turnId) === undefined) {
    const closed = await closeAbandonedTurn(turnDeps.conversation, workspaceId, turnId).catch((error: unknown) => {
      throw unavailableError(error);
    });
    return outcomeFromProto(closed.outcome) ?? "error";
  }
  const ending = await turnDeps.runningTurns.cancel(turnId, STOP_TIMEOUT_MS);
  if (ending === undefined) throw unavailableError(undefined);
  return ending.outcome;
}

/** Cancels a turn at the edge that runs it. If that edge has closed the turn meanwhile, reads the outcome from the database. */
async function cancelElsewhere(
  deps: StopDeps,
  workspaceId: string,
  existing: StoredTurn,
  findAgain: () => Promise<StoredTurn>,
): Promise<Outcome> {
  const outcome = await deps.edges.cancel(workspaceId, existing).catch(async (error: unknown) => {
    if (!(error instanceof RpcError && error.code === "turn_not_found")) throw unavailableError(error);
    return readStoredReply(await findAgain())?.ending.outcome;
  });
  if (outcome === undefined) throw unavailableError(undefined);
  return outcome;
}
