import type { Logger } from "./logger.ts";

/** A service is gone at the latest this long after its drain, whatever does not close; who ends it by force waits for longer. */
export const STOP_WITHIN_MS = 30_000;

type Closer = { name: string; timeoutMs: number; close: () => Promise<void> | void };

/** What is to be closed when the service stops: last in, first out, each within its own time. */
export class Lifecycle {
  readonly #closers: Closer[] = [];
  readonly #log: Logger;
  #closing: Promise<boolean> | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Whether the service has begun to stop: it is not ready any more, whatever it still finishes. */
  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  onClose(name: string, close: () => Promise<void> | void, timeoutMs = 5_000): void {
    this.#closers.push({ name, timeoutMs, close });
  }

  /**
   * Closes everything once; a closer that fails or takes too long is logged and passed over. Resolves with whether all of it was
   * through within `timeoutMs`.
   */
  close(timeoutMs: number = STOP_WITHIN_MS): Promise<boolean> {
    this.#closing ??= within(timeoutMs, this.#closeAll()).then(
      () => true,
      (error: unknown) => {
        this.#log.error({ error }, "not everything was closed in time");
        return false;
      },
    );
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    for (const closer of this.#closers.reverse()) {
      try {
        await within(closer.timeoutMs, Promise.resolve(closer.close()));
      } catch (error) {
        this.#log.warn({ closer: closer.name, error }, "closing failed");
      }
    }
  }
}

async function within(timeoutMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not closed within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
