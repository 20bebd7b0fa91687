import type { Logger } from "../process/logger.ts";

export type MeasurementOptions = {
  /** The name of the measurement in the log. */
  name: string;
  /** How long a result is reused. The result of a slow measurement is reused for longer. With 0, every scrape measures again. */
  cacheMs: number;
  /** A monotonic clock in milliseconds. */
  now?: () => number;
};

/** How long a scrape waits for a result. A database that does not answer must not delay the other metrics. */
const SCRAPE_WAIT_MS = 500;
/** If `cacheMs` is above 0, a measurement may occupy a database connection for at most this share of the time. */
const MAX_BUSY_SHARE = 1 / 20;
/** How long an expired result is reused while the next measurement runs. Longer than a statement may run (10 s). */
const MAX_OVERDUE_MS = 30_000;

/**
 * Returns a function that gets the result of `measure`. Gauges call the function on each scrape. Concurrent calls share one measurement. If
 * a measurement takes longer than a scrape waits and `cacheMs` is above 0, the call returns the previous result for up to 30 s after that
 * result expired. A call returns undefined if there is no result.
 */
export function createCachedMeasurement<T>(
  measure: () => Promise<T>,
  { name, cacheMs, now = () => performance.now() }: MeasurementOptions,
  log: Logger,
): () => Promise<T | undefined> {
  let result: T | undefined;
  let freshUntilMs = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    const startedAt = now();
    try {
      result = await measure();
    } catch (error) {
      result = undefined;
      log.warn({ measurement: name, error }, "measurement failed");
    }
    const endedAt = now();
    freshUntilMs = cacheMs === 0 ? endedAt : endedAt + Math.max(cacheMs, (endedAt - startedAt) / MAX_BUSY_SHARE);
  }

  return async () => {
    if (now() < freshUntilMs) return result;
    running ??= run().finally(() => {
      running = undefined;
    });
    if (await endsWithin(SCRAPE_WAIT_MS, running)) return result;
    return cacheMs > 0 && now() < freshUntilMs + MAX_OVERDUE_MS ? result : undefined;
  };
}

async function endsWithin(timeoutMs: number, work: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const isInTime = await Promise.race([work.then(() => true), timeout]);
  clearTimeout(timer);
  return isInTime;
}
