import { readMetric } from "./metrics.ts";
import type { ServiceProcess } from "./processes.ts";

const MAX_ATTEMPTS = 10;

/**
 * Runs `work`, and repeats it if an edge decided a rate limit without Redis meanwhile. Runs it at most MAX_ATTEMPTS times. On an overloaded
 * machine Redis may miss its deadline of 50 ms. An edge then decides alone.
 */
export async function repeatUntilRedisDecides<T>(edges: readonly ServiceProcess[], work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const before = await countLocalDecisions(edges);
    const result = await work();
    if ((await countLocalDecisions(edges)) === before || attempt === MAX_ATTEMPTS) return result;
  }
}

async function countLocalDecisions(edges: readonly ServiceProcess[]): Promise<number> {
  const counts = edges.map((edge) => readMetric(edge, "parley_rate_limiter_local_decisions_total"));
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}
