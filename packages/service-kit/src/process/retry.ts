import { setTimeout as sleep } from "node:timers/promises";

export type RetryOptions = {
  /** Whether to try again after an error. `attempts` is the number of attempts so far. */
  canRetry: (error: unknown, attempts: number) => boolean;
  /** Returns the wait before the next attempt; by default none. */
  delayMs?: (attempts: number) => number;
};

/** Returns the result of `work`. If `work` fails and may be tried again, runs it again. Throws the error of the last attempt. */
export async function withRetry<T>(work: () => Promise<T>, { canRetry, delayMs }: RetryOptions): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await work();
    } catch (error) {
      if (!canRetry(error, attempts)) throw error;
    }
    if (delayMs !== undefined) await sleep(delayMs(attempts));
  }
}

/** Returns the wait after `failures` failures: `firstMs` after the first one, doubled after each further one, up to `maxMs`. */
export function backoffMs(failures: number, firstMs: number, maxMs: number): number {
  return Math.min(maxMs, firstMs * 2 ** (failures - 1));
}

/** Changes a wait by up to 25 % at random, so that processes that failed together do not try again together. */
export function withJitter(ms: number): number {
  return ms * (0.75 + Math.random() / 2);
}
