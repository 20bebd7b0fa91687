import type { Logger } from "./logger.ts";

type Closer = { name: string; timeoutMs: number; close: () => Promise<void> | void };

/** What is to be closed when the service stops: last in, first out, each within its own time. */
export class Lifecycle {
  readonly #closers: Closer[] = [];
  readonly #log: Logger;
  #closing: Promise<void> | undefined;

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

  /** Closes everything once; a closer that fails or takes too long is logged and passed over. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
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
