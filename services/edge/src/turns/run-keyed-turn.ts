import { RpcError, status } from "@parley/rpc";
import type { OpenTurnResponse } from "@parley/rpc/conversation";
import { withRetry } from "@parley/service-kit";
import { requireConsent } from "./consent.ts";
import type { KeyedReply } from "./keyed-reply.ts";
import {
  completeTurn,
  handleOpenFailure,
  type IdentifiedTurn,
  identifyTurn,
  openTurn,
  type TurnContext,
  type TurnDeps,
  type TurnReport,
  type TurnRequest,
} from "./run-turn.ts";
import type { Stopwatch } from "./stopwatch.ts";

/** How long a failed OpenTurn is retried. */
const OPEN_RETRY_MS = 2_000;
const OPEN_RETRY_DELAY_MS = 100;

export type IdempotencyHashes = { keyHash: Uint8Array; requestHash: Uint8Array };

/**
 * Runs a turn with an idempotency key. If every client leaves before OpenTurn is sent, the turn is not opened. An open turn continues without
 * readers until `reply` cancels it. Returns undefined if the key belongs to another turn. Throws if the message or the turn was refused;
 * `reply.opening` rejects with the same error. The caller must have added `reply` with RunningTurns.addReply(); this function removes it.
 */
export async function runKeyedTurn(
  deps: TurnDeps,
  request: TurnRequest & IdempotencyHashes,
  reply: KeyedReply,
  { stopwatch, countMessage }: Pick<TurnContext, "stopwatch" | "countMessage">,
): Promise<TurnReport | undefined> {
  const turn: IdentifiedTurn = { ...identifyTurn(deps, request), ...request };
  const running = deps.runningTurns.add(turn, () => reply.cancel(), reply);
  let releaseStart: (() => void) | undefined;
  try {
    stopwatch.enter("open");
    releaseStart = await deps.turnStartLimiter.begin(turn.workspaceId, reply.allClientsGoneSignal);
    await countMessage?.();
    const opened = await openWithRetry(deps, turn, stopwatch);
    requireConsent(opened);
    if (opened.existing !== undefined) {
      reply.resolveToExistingTurn(opened.existing);
      return undefined;
    }
    const { report, ending } = await completeTurn(deps, turn, opened, {
      sink: reply,
      stopwatch,
      releaseStart,
      // A cancelled reply ends as `cancelled`. If the process stops, only endSignal is aborted, and the reply ends as an error.
      cancelSignal: reply.cancelSignal,
      endSignal: reply.endSignal,
      keyed: { onClosing: () => reply.beginClosing(), countReconnects: () => reply.reconnects },
    });
    // RunningTurns.cancel() returns this ending after the turn is removed.
    running.ending = ending;
    return report;
  } catch (error) {
    reply.failOpening(error);
    throw error;
  } finally {
    releaseStart?.();
    deps.runningTurns.remove(turn.turnId);
    deps.runningTurns.removeReply(request);
    reply.dispose();
  }
}

/**
 * Retries OpenTurn while it fails with UNAVAILABLE, because the turn may be open although the response was lost. Each attempt has the same
 * turn id, so at most one turn is opened. If it is unknown whether it was opened, closes it later.
 */
async function openWithRetry(deps: TurnDeps, turn: IdentifiedTurn, stopwatch: Stopwatch): Promise<OpenTurnResponse> {
  const retryUntilMs = performance.now() + OPEN_RETRY_MS;
  let unavailableError: RpcError | undefined;
  const canRetry = (error: unknown) => {
    const isUnavailable = error instanceof RpcError && error.status === status.UNAVAILABLE;
    if (isUnavailable && performance.now() < retryUntilMs) {
      unavailableError = error;
      return true;
    }
    // Even if this attempt was refused, an earlier attempt whose response was lost may have opened the turn.
    handleOpenFailure(deps, turn, unavailableError ?? error, stopwatch);
    return false;
  };
  const opened = await withRetry(() => openTurn(deps, turn, stopwatch), {
    canRetry,
    delayMs: () => OPEN_RETRY_DELAY_MS,
  });
  // The bot has asked for a consent since the earlier attempt, which may still open the turn.
  if (unavailableError !== undefined && opened.consentRequired !== undefined)
    handleOpenFailure(deps, turn, unavailableError, stopwatch);
  return opened;
}
