/** Never more than a reader could notice. */
const MAX_WINDOW_MS = 20;
/** So many replies at once make the window a millisecond wider. */
const REPLIES_A_MILLISECOND = 10;

/**
 * When the text that has come is sent on. All replies share one clock, so that what many of them have to say leaves in one write; the
 * more there are, the more is gathered: at the end of the event loop's turn with few, every 20 ms with hundreds.
 */
export class FlushClock {
  #replies = 0;
  #next: Promise<void> | undefined;

  /** Counts a reply that begins; `leave` is to be called at its end. */
  enter(): () => void {
    this.#replies++;
    return () => {
      this.#replies--;
    };
  }

  /** Resolves at the next moment to send. */
  wait(): Promise<void> {
    this.#next ??= new Promise((resolve) => {
      const tick = () => {
        this.#next = undefined;
        resolve();
      };
      const windowMs = Math.min(MAX_WINDOW_MS, Math.floor(this.#replies / REPLIES_A_MILLISECOND));
      if (windowMs === 0) setImmediate(tick);
      else setTimeout(tick, windowMs);
    });
    return this.#next;
  }
}
