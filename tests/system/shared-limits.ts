import { readMetric } from "./metrics.ts";
import type { ServiceProcess } from "./processes.ts";

const MAX_ATTEMPTS = 10;

/**
 * Runs `work`, and runs it again if an edge counted a request without Redis during the run. On an overloaded machine, this happens when
 * Redis misses its deadline of 50 ms. Throws if it happens in all MAX_ATTEMPTS runs.
 */
export async function retryIfRedisIsTooSlow<T>(edges: readonly ServiceProcess[], work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const before = await countLocalDecisions(edges);
    const result = await work();
    if ((await countLocalDecisions(edges)) === before) return result;
    if (attempt === MAX_ATTEMPTS)
      throw new Error(`an edge counted a request without Redis in each of ${MAX_ATTEMPTS} runs`);
  }
}

async function countLocalDecisions(edges: readonly ServiceProcess[]): Promise<number> {
  const counts = edges.map((edge) => readMetric(edge, "parley_rate_limiter_local_decisions_total"));
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}
