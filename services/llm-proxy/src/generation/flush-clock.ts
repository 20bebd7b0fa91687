/** Too short for a visitor to notice. */
const MAX_FLUSH_WINDOW_MS = 20;
/** The window grows by one millisecond for every ten running generations. */
const GENERATIONS_PER_MILLISECOND = 10;

/** Decides when coalesced text is sent. All generations share one clock, so that the texts of many generations leave in one write. */
export class FlushClock {
  #generations = 0;
  #next: Promise<void> | undefined;

  /** Counts a generation until the returned function is called. */
  addGeneration(): () => void {
    this.#generations++;
    return () => {
      this.#generations--;
    };
  }

  /** Resolves at the end of the current window. */
  waitForFlush(): Promise<void> {
    this.#next ??= new Promise((resolve) => {
      const flush = () => {
        this.#next = undefined;
        resolve();
      };
      const windowMs = Math.min(MAX_FLUSH_WINDOW_MS, Math.floor(this.#generations / GENERATIONS_PER_MILLISECOND));
      if (windowMs === 0) setImmediate(flush);
      else setTimeout(flush, windowMs);
    });
    return this.#next;
  }
}
