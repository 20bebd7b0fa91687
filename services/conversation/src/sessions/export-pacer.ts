import { setTimeout as sleep } from "node:timers/promises";

/** Turns count as running for this time after a turn was opened or closed. */
const RECENT_MS = 1_000;
/**
 * The pause of an export ÷ the time of its last statement, if no other export runs. With n exports the ratio is n times as high, so all of
 * them together run statements for about a tenth of the time.
 */
const PAUSE_RATIO = 9;
const MAX_PAUSE_MS = 1_000;

/** Runs a statement of an export. */
export type RunStatement = <T>(statement: () => Promise<T>) => Promise<T>;

/**
 * Slows exports down while turns run. An export reads as fast as its client receives, and shares the database and the processors with every
 * turn. Without turns, exports do not pause.
 */
export class ExportPacer {
  #lastTurnAtMs = Number.NEGATIVE_INFINITY;
  /** The number of exports that read or pause. */
  #exports = 0;

  /** Records that a turn was opened or closed. */
  recordTurn(): void {
    this.#lastTurnAtMs = performance.now();
  }

  /** Whether turns run. If so, exports should also read small pages, because a turn waits for the page that is being read. */
  get isBusy(): boolean {
    return performance.now() - this.#lastTurnAtMs < RECENT_MS;
  }

  /**
   * Returns a function that runs the statements of one export, one after the other. While turns run, it pauses before each statement, in
   * proportion to the time of the previous one and to the number of exports. If the signal is aborted, the pause ends and
   * throws the signal's reason.
   */
  pace(run: RunStatement, signal: AbortSignal): RunStatement {
    let statementMs = 0;
    return async (statement) => {
      this.#exports++;
      try {
        if (this.isBusy) {
          const pauseMs = Math.min(MAX_PAUSE_MS, statementMs * PAUSE_RATIO * this.#exports);
          await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
        }
        return await run(async () => {
          const startedAt = performance.now();
          const result = await statement();
          statementMs = performance.now() - startedAt;
          return result;
        });
      } finally {
        this.#exports--;
      }
    };
  }
}
