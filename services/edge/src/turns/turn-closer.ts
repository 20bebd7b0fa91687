import { setTimeout as sleep } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type RpcClient, RpcError, status } from "@parley/rpc";
import type { CloseTurnRequestSchema, CloseTurnResponse, ConversationService } from "@parley/rpc/conversation";
import { OUTCOMES } from "@parley/rpc/outcomes";
import type { Logger } from "@parley/service-kit";

type CloseTurnInit = MessageInitShape<typeof CloseTurnRequestSchema>;

const ATTEMPT_TIMEOUT_MS = 2_000;
/** How long an outcome is retried. */
const CLOSE_TIMEOUT_MS = 10_000;
/** How long a `done` with a deadline is retried. The database refuses it after that. */
const DONE_TIMEOUT_MS = 4_000;
/** The statement_timeout of the conversation service's role: a `done` that the database began before its deadline may run this long. */
const STATEMENT_TIMEOUT_MS = 10_000;
const FIRST_RETRY_DELAY_MS = 50;
const MAX_RETRY_DELAY_MS = 2_000;
/** Longer than OpenTurn's deadline: after this delay an OpenTurn that failed here has either committed or never will. */
const CLOSE_IF_OPENED_DELAY_MS = 12_000;
/** While the conversation service is down, OpenTurn fails for every visitor. The sweeper closes the turns above this limit. */
const MAX_DELAYED_CLOSES = 1_000;

export type TurnCloser = {
  /**
   * Stores an outcome and returns the outcome that is stored, which may differ. Returns undefined if no call succeeds within 10 s. A
   * `done` with a deadline has 14 s: the deadline of 4 s plus the statement timeout of 10 s, because it may commit until then.
   * @param databaseTime the database's clock now, in microseconds since 1970; undefined if the conversation service did not send it.
   */
  close(request: CloseTurnInit, databaseTime: bigint | undefined): Promise<CloseTurnResponse | undefined>;
  /** For a turn whose OpenTurn result is unknown: if it was opened, closes it 12 s later as an error. */
  closeIfOpened(turn: CloseTurnInit): void;
  /** Adds the phases to a turn that is already closed. Best effort, in the background. */
  recordTimings(request: CloseTurnInit): void;
  /** Waits until every pending CloseTurn is acknowledged, at most `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
};

/**
 * Closes turns, with retries that continue when the visitor leaves. If an outcome cannot be stored in time, the closer retries in the
 * background to store an error instead. If this process ends before that succeeds, its lease expires and the sweeper closes the turn.
 *
 * @param onLateDone called for each turn that was stored as `done` although `close` returned undefined.
 */
export function createTurnCloser(
  conversation: RpcClient<typeof ConversationService>,
  log: Logger,
  onLateDone: () => void,
): TurnCloser {
  const pending = new Set<Promise<unknown>>();

  /** Returns undefined when the deadline has passed or the request was rejected. */
  async function sendWithRetry(request: CloseTurnInit, deadlineMs: number): Promise<CloseTurnResponse | undefined> {
    let delayMs = FIRST_RETRY_DELAY_MS;
    while (performance.now() < deadlineMs) {
      try {
        return await conversation.closeTurn(request, { timeoutMs: ATTEMPT_TIMEOUT_MS });
      } catch (error) {
        if (isRejection(error)) {
          log.info({ turn_id: request.turnId, error }, "turn close rejected");
          return undefined;
        }
        log.warn({ turn_id: request.turnId, error }, "turn close failed, retrying");
        await sleep(delayMs);
        delayMs = Math.min(delayMs * 2, MAX_RETRY_DELAY_MS);
      }
    }
    return undefined;
  }

  function track(response: Promise<CloseTurnResponse | undefined>): Promise<CloseTurnResponse | undefined> {
    pending.add(response);
    return response.finally(() => pending.delete(response));
  }

  let delayedCloses = 0;
  async function closeAfterDelay(turn: CloseTurnInit): Promise<void> {
    await sleep(CLOSE_IF_OPENED_DELAY_MS, undefined, { ref: false });
    await sendWithRetry(asInternalError(turn), performance.now() + CLOSE_TIMEOUT_MS);
    delayedCloses--;
  }

  return {
    closeIfOpened(turn) {
      if (delayedCloses >= MAX_DELAYED_CLOSES) return;
      delayedCloses++;
      void closeAfterDelay(turn);
    },
    recordTimings(request) {
      void track(sendWithRetry(request, performance.now() + ATTEMPT_TIMEOUT_MS));
    },
    async close(request, databaseTime) {
      const hasDeadline = request.outcome === OUTCOMES.done.proto && databaseTime !== undefined;
      const deadlineMs = performance.now() + (hasDeadline ? DONE_TIMEOUT_MS : CLOSE_TIMEOUT_MS);
      const deadline = hasDeadline && { deadlineMicroseconds: databaseTime + BigInt(DONE_TIMEOUT_MS * 1_000) };
      const stored = await track(sendWithRetry({ ...request, ...deadline }, deadlineMs));
      if (stored !== undefined) return stored;
      const closedAsError = track(sendWithRetry(asInternalError(request), Number.POSITIVE_INFINITY));
      const waitMs = hasDeadline ? deadlineMs + STATEMENT_TIMEOUT_MS - performance.now() : 0;
      const storedInTime = await Promise.race([closedAsError, sleep(waitMs, undefined, { ref: false })]);
      if (storedInTime === undefined)
        void closedAsError.then((late) => {
          if (late?.outcome === OUTCOMES.done.proto) onLateDone();
        });
      return storedInTime;
    },
    async drain(timeoutMs) {
      await Promise.race([Promise.allSettled([...pending]), sleep(timeoutMs, undefined, { ref: false })]);
    },
  };
}

function asInternalError(request: CloseTurnInit): CloseTurnInit {
  return { ...request, outcome: OUTCOMES.error.proto, errorCode: "internal_error" };
}

const REJECTIONS: readonly number[] = [status.NOT_FOUND, status.INVALID_ARGUMENT, status.FAILED_PRECONDITION];

/** A retry cannot succeed: the turn was never opened, the request is invalid, or the deadline of `done` has passed. */
function isRejection(error: unknown): boolean {
  return error instanceof RpcError && REJECTIONS.includes(error.status);
}
