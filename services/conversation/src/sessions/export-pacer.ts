import { setTimeout as sleep } from "node:timers/promises";

/** Turns count as running for this time after a turn was opened or closed. */
const RECENT_MS = 1_000;
/**
 * The pause before a statement is 9 × the duration of the export's previous statement × the number of statements that run or pause in all
 * exports. So the paced statements of all exports together run for about a tenth of the time, or for longer if MAX_PAUSE_MS limits the pauses.
 */
const PAUSE_RATIO = 9;
const MAX_PAUSE_MS = 1_000;

export type RunStatement = <T>(statement: () => Promise<T>) => Promise<T>;

/** Slows exports down while turns run, because an export reads as fast as its client receives, and would delay the turns. */
export class ExportPacer {
  #lastTurnAtMs = Number.NEGATIVE_INFINITY;
  /** The number of statements that run or pause in all exports. An export that reads ahead may have two. */
  #statements = 0;

  /** Records that a turn was opened or closed. */
  recordTurn(): void {
    this.#lastTurnAtMs = performance.now();
  }

  /**
   * Whether a turn was opened or closed in the last RECENT_MS. If so, exports should also read small pages, because parsing and formatting a page
   * delays the turns of this process.
   */
  get hasRecentTurn(): boolean {
    return performance.now() - this.#lastTurnAtMs < RECENT_MS;
  }

  /**
   * Returns a function that runs a statement of one export by calling `run`. While turns run, the function pauses before each statement. It
   * may be called concurrently. If the signal is aborted before the pause ends, the call throws the signal's reason.
   */
  pace(run: RunStatement, signal: AbortSignal): RunStatement {
    let statementMs = 0;
    return async (statement) => {
      this.#statements++;
      try {
        if (this.hasRecentTurn) {
          const pauseMs = Math.min(MAX_PAUSE_MS, statementMs * PAUSE_RATIO * this.#statements);
          await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
        }
        return await run(async () => {
          const startedAt = performance.now();
          const result = await statement();
          statementMs = performance.now() - startedAt;
          return result;
        });
      } finally {
        this.#statements--;
      }
    };
  }
}
