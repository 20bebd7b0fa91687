import { setTimeout as sleep } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { isParleyError, type RpcClient, RpcError, status } from "@parley/rpc";
import type { CloseTurnRequestSchema, CloseTurnResponse, ConversationService } from "@parley/rpc/conversation";
import { OUTCOMES } from "@parley/rpc/outcomes";
import { backoffMs, FairQueue, type Logger } from "@parley/service-kit";

type CloseTurnInit = MessageInitShape<typeof CloseTurnRequestSchema>;

const ATTEMPT_TIMEOUT_MS = 2_000;
/** How long an outcome without a deadline is retried. */
const CLOSE_TIMEOUT_MS = 10_000;
/** How long a `done` with a deadline is retried. The database refuses it after that. */
const DONE_TIMEOUT_MS = 4_000;
/** The statement_timeout of the conversation service's role: a `done` whose statement began before the deadline may be stored this much later. */
const STATEMENT_TIMEOUT_MS = 10_000;
const FIRST_RETRY_DELAY_MS = 50;
const MAX_RETRY_DELAY_MS = 2_000;
/**
 * While a CloseTurn is encoded and sent, its text is in memory several times, and many streams may end together. So only a few replies above
 * this length are sent concurrently.
 */
const LONG_REPLY_CHARACTERS = 64 * 1024;
const MAX_LONG_DONE_CLOSES = 2;
const MAX_LONG_OTHER_CLOSES = 1;
/**
 * An OpenTurn whose call failed commits within this time or never, unless the network delivers its statement late. The sum of 10 s each for
 * OpenTurn's deadline, the longest wait for a database connection and the statement timeout, and a margin of 2 s.
 */
const CLOSE_IF_OPENED_DELAY_MS = 32_000;
/** After these attempts, which take 7 minutes, the edge leaves the turn to the sweeper. */
const MAX_CLOSE_IF_OPENED_ATTEMPTS = 13;
/** After this many errors other than an outage, the closer sends less of the request: see reduceRequest. */
const MAX_PERMANENT_FAILURES = 2;
/** While the conversation service is down, OpenTurn fails for every visitor. The sweeper closes the turns above this limit. */
const MAX_DELAYED_CLOSES = 1_000;

export type TurnCloser = {
  /**
   * Stores an outcome and returns the outcome that is stored, which may differ. Returns undefined if no outcome can be stored, e.g. for an
   * unknown turn, or if no call succeeds within 10 s. If `databaseTimeMicroseconds` is set, a `done` gets a deadline of 4 s, and the limit is
   * 14 s: the deadline plus the statement timeout of 10 s. If the message has an idempotency key (`isKeyed`), there is no limit.
   * @param databaseTimeMicroseconds the database's clock now, in microseconds since 1970; undefined for a blocked turn.
   */
  close(
    request: CloseTurnInit,
    databaseTimeMicroseconds: bigint | undefined,
    options?: { isKeyed: boolean },
  ): Promise<CloseTurnResponse | undefined>;
  /**
   * For a turn whose OpenTurn result is unknown: if the turn was opened, closes it as an error 32 s later. If a call fails, retries every 32 s
   * for 7 minutes. If a retry does not find the turn, tries once more, because the OpenTurn may still commit.
   */
  closeIfOpened(turn: CloseTurnInit): void;
  /** Adds the latency and the time of each phase to a turn that is already closed. Sends one request, in the background. */
  recordTimings(request: CloseTurnInit): void;
  /** Waits until every pending CloseTurn is acknowledged, or for `timeoutMs`. Does not wait for those that closeIfOpened delays. */
  drain(timeoutMs: number): Promise<void>;
};

/** `isFinal` is true if an outcome is stored or none can be stored. It is false if an error can still be stored. */
type SendResult = { stored: CloseTurnResponse | undefined; isFinal: boolean };

/** Waits. With `keepsRunning`, the process does not exit during the wait. */
type Pause = (ms: number, keepsRunning?: boolean) => Promise<undefined>;

const pauseByTimer: Pause = (ms, keepsRunning = false) => sleep(ms, undefined, { ref: keepsRunning });

/**
 * Closes turns, with retries that continue when the visitor leaves. If an outcome cannot be stored in time, the closer sends an error instead,
 * and retries until the error is stored, rejected or given up. If this process ends earlier, its lease expires and the sweeper closes the turn.
 *
 * @param onLateDone called for each turn that was stored as `done` although `close` returned undefined.
 */
export function createTurnCloser(
  conversation: RpcClient<typeof ConversationService>,
  log: Logger,
  onLateDone: () => void,
  pause: Pause = pauseByTimer,
): TurnCloser {
  const pending = new Set<Promise<unknown>>();
  // Two limits, so that a visitor who waits for `done` does not wait for the replies of visitors who left.
  const doneQueue = new FairQueue({ maxActive: MAX_LONG_DONE_CLOSES });
  const otherQueue = new FairQueue({ maxActive: MAX_LONG_OTHER_CLOSES });

  function send(request: CloseTurnInit): Promise<CloseTurnResponse> {
    const call = () => conversation.closeTurn(request, { timeoutMs: ATTEMPT_TIMEOUT_MS });
    if ((request.content?.length ?? 0) <= LONG_REPLY_CHARACTERS) return call();
    const queue = request.outcome === OUTCOMES.done.proto ? doneQueue : otherQueue;
    return queue.run(request.workspaceId ?? "", undefined, call);
  }

  /** Sends a request until it is stored, rejected or given up, or the deadline has passed. */
  async function sendWithRetry(request: CloseTurnInit, deadlineMs: number): Promise<SendResult> {
    let current = request;
    let permanentFailures = 0;
    for (let failures = 1; performance.now() < deadlineMs; failures++) {
      try {
        return { stored: await send(current), isFinal: true };
      } catch (error) {
        if (isRejection(error)) {
          log.info({ turn_id: request.turnId, error }, "turn close rejected");
          return { stored: undefined, isFinal: !canStoreError(current, error) };
        }
        if (!isOutage(error) && ++permanentFailures === MAX_PERMANENT_FAILURES) {
          permanentFailures = 0;
          const reduced = reduceRequest(current);
          if (reduced === undefined) {
            log.error({ turn_id: request.turnId, error }, "turn close given up");
            return { stored: undefined, isFinal: true };
          }
          current = reduced;
        }
        log.warn({ turn_id: request.turnId, error }, "turn close failed, retrying");
        await pause(backoffMs(failures, FIRST_RETRY_DELAY_MS, MAX_RETRY_DELAY_MS), true);
      }
    }
    return { stored: undefined, isFinal: false };
  }

  function trackPending<T>(response: Promise<T>): Promise<T> {
    pending.add(response);
    return response.finally(() => pending.delete(response));
  }

  let delayedCloses = 0;
  async function closeAfterDelay(turn: CloseTurnInit): Promise<void> {
    let isAfterFailure: boolean = false;
    for (let attempt = 1; attempt <= MAX_CLOSE_IF_OPENED_ATTEMPTS; attempt++) {
      await pause(CLOSE_IF_OPENED_DELAY_MS);
      try {
        await send(toInternalError(turn));
        break;
      } catch (error) {
        if (isRejection(error) && !isAfterFailure) break;
        isAfterFailure = !isRejection(error);
        const isLast = attempt === MAX_CLOSE_IF_OPENED_ATTEMPTS;
        log.warn({ turn_id: turn.turnId, error }, isLast ? "turn close given up" : "turn close failed, retrying");
      }
    }
    delayedCloses--;
  }

  return {
    closeIfOpened(turn) {
      if (delayedCloses >= MAX_DELAYED_CLOSES) return;
      delayedCloses++;
      void closeAfterDelay(turn);
    },
    recordTimings(request) {
      const recorded = send(request).catch((error: unknown) => {
        log.warn({ turn_id: request.turnId, error }, "turn timings not recorded");
      });
      void trackPending(recorded);
    },
    async close(request, databaseTimeMicroseconds, { isKeyed } = { isKeyed: false }) {
      const hasDeadline = request.outcome === OUTCOMES.done.proto && databaseTimeMicroseconds !== undefined;
      const deadlineMs = performance.now() + (hasDeadline ? DONE_TIMEOUT_MS : CLOSE_TIMEOUT_MS);
      const deadline = hasDeadline && {
        deadlineMicroseconds: databaseTimeMicroseconds + BigInt(DONE_TIMEOUT_MS * 1_000),
      };
      const inTime = sendWithRetry({ ...request, ...deadline }, deadlineMs);
      const closeAsError = () => sendWithRetry(toInternalError(request), Number.POSITIVE_INFINITY);
      // Tracks the request and closeAsError's request as one promise, so that drain waits for both requests.
      const closed = trackPending(
        inTime.then(async (result) => (result.isFinal ? result : await closeAsError()).stored),
      );
      const { stored, isFinal } = await inTime;
      if (isFinal) return stored;
      if (isKeyed) return closed;
      const waitMs = hasDeadline ? deadlineMs + STATEMENT_TIMEOUT_MS - performance.now() : 0;
      const storedInTime = await Promise.race([closed, pause(waitMs)]);
      if (storedInTime === undefined)
        void closed.then((late) => {
          if (late?.outcome === OUTCOMES.done.proto) onLateDone();
        });
      return storedInTime;
    },
    async drain(timeoutMs) {
      await Promise.race([Promise.allSettled([...pending]), pause(timeoutMs)]);
    },
  };
}

function toInternalError(request: CloseTurnInit): CloseTurnInit {
  return { ...request, outcome: OUTCOMES.error.proto, errorCode: "internal_error" };
}

/**
 * Returns what to send instead of a request that the conversation service cannot store: first the same outcome without the text and tool
 * calls, then an error. Returns undefined if the request is already an error without text and tool calls. The sweeper then closes the turn.
 */
function reduceRequest(request: CloseTurnInit): CloseTurnInit | undefined {
  const hasContent = (request.content ?? "") !== "" || (request.toolsCalled ?? []).length > 0;
  if (hasContent) return { ...request, content: "", toolsCalled: [], chunksCited: [], sources: [] };
  return request.outcome === OUTCOMES.error.proto ? undefined : toInternalError(request);
}

const OUTAGES: readonly number[] = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED, status.ABORTED];

/** Whether a retry of the same request may succeed. A proxy without a peer may send any status. */
function isOutage(error: unknown): boolean {
  if (!(error instanceof RpcError)) return false;
  return OUTAGES.includes(error.status) || (!error.isFromParley && REJECTIONS.includes(error.status));
}

const REJECTIONS: readonly status[] = [status.NOT_FOUND, status.INVALID_ARGUMENT, status.FAILED_PRECONDITION];

/** Whether no retry can succeed: the turn was never opened, the request is invalid, or the deadline of `done` has passed. */
function isRejection(error: unknown): error is RpcError {
  return isParleyError(error, ...REJECTIONS);
}

/**
 * Whether the turn of a rejected request can still be closed as an error. Only a `done` requires `month` and must meet a deadline, so an
 * error may be stored instead of it. An unknown turn cannot be closed at all.
 */
function canStoreError({ outcome }: CloseTurnInit, rejection: RpcError): boolean {
  return outcome === OUTCOMES.done.proto && rejection.status !== status.NOT_FOUND;
}
