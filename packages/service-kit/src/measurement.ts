import type { Logger } from "./logger.ts";

export type MeasurementOptions = {
  /** For the log. */
  name: string;
  /**
   * A result serves this long; what took long is done more rarely, so that it never costs more than a twentieth of a connection. 0: what
   * is measured is cheap, and every scrape measures anew.
   */
  everyMs: number;
  /** A monotonic clock in milliseconds. */
  now?: () => number;
};

/** How long a scrape waits for a result. A database that does not answer must not cost an operator all the other metrics. */
const WAIT_MS = 500;
const MAX_SHARE = 1 / 20;

/**
 * What gauges read from a database when they are scraped. All of them share one result; undefined while there is none, as when the
 * database is away.
 */
export function createMeasurement<T>(
  measure: () => Promise<T>,
  { name, everyMs, now = () => performance.now() }: MeasurementOptions,
  log: Logger,
): () => Promise<T | undefined> {
  let result: T | undefined;
  let freshUntil = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    const startedAt = now();
    try {
      result = await measure();
    } catch (error) {
      result = undefined;
      log.warn({ error }, `cannot measure ${name}`);
    }
    const endedAt = now();
    freshUntil = everyMs === 0 ? endedAt : endedAt + Math.max(everyMs, (endedAt - startedAt) / MAX_SHARE);
  }

  return async () => {
    if (now() < freshUntil) return result;
    running ??= run().finally(() => {
      running = undefined;
    });
    return (await within(WAIT_MS, running)) ? result : undefined;
  };
}

/** Whether the work ended in time. */
async function within(timeoutMs: number, work: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const inTime = await Promise.race([work.then(() => true), late]);
  clearTimeout(timer);
  return inTime;
}
