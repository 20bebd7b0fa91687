/** Wakes a waiting reader: early when it rings, at the latest after a time. */
export class Alarm {
  readonly #signal: AbortSignal;
  #isRinging: boolean = false;
  #wake: () => void = () => undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this.ring);
  }

  readonly ring = (): void => {
    this.#isRinging = true;
    this.#wake();
  };

  async wait(timeoutMs: number): Promise<void> {
    if (!this.#isRinging && !this.#signal.aborted)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    this.#isRinging = false;
    this.#wake = () => undefined;
  }

  dispose(): void {
    this.#signal.removeEventListener("abort", this.ring);
  }
}
