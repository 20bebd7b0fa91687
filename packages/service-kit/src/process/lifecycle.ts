import type { Logger } from "./logger.ts";

/**
 * The time that a stopping service has to close after its drain timeout. The service then exits, even if it is not closed. A supervisor that
 * kills the service must wait longer than the drain timeout plus this time.
 */
export const SERVICE_CLOSE_TIMEOUT_MS = 30_000;

type Closer = { name: string; timeoutMs: number; close: () => Promise<void> | void };

/** Closes a service's resources when it stops: last in, first out, each within its own timeout. */
export class Lifecycle {
  readonly #closers: Closer[] = [];
  readonly #log: Logger;
  readonly #closingController = new AbortController();
  #closing: Promise<boolean> | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Whether the service has started to stop. */
  get isClosing(): boolean {
    return this.closingSignal.aborted;
  }

  /** Aborted when the service starts to stop, before the first closer runs. */
  get closingSignal(): AbortSignal {
    return this.#closingController.signal;
  }

  /** Adds a closer. `name` appears in the log. */
  onClose(name: string, close: () => Promise<void> | void, timeoutMs = 5_000): void {
    this.#closers.push({ name, timeoutMs, close });
  }

  /**
   * Runs every closer. If a closer fails or times out, logs the failure and continues with the next closer. Returns whether all closers ran
   * within `timeoutMs`. A second call returns the result of the first.
   */
  close(timeoutMs: number = SERVICE_CLOSE_TIMEOUT_MS): Promise<boolean> {
    this.#closingController.abort();
    this.#closing ??= withTimeout(timeoutMs, this.#closeAll()).then(
      () => true,
      (error: unknown) => {
        this.#log.error({ error }, "shutdown timed out");
        return false;
      },
    );
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    for (const closer of this.#closers.reverse()) {
      try {
        await withTimeout(closer.timeoutMs, Promise.resolve(closer.close()));
      } catch (error) {
        this.#log.warn({ closer: closer.name, error }, "close failed");
      }
    }
  }
}

async function withTimeout(timeoutMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not closed within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
