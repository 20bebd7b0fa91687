import { vi } from "vitest";
import type { System } from "../../system/system.ts";

/** The contract's limit for the cancellation of a provider request: sentences D16/1 and D35/1. */
export const MAX_CANCEL_MS = 1_000;

/** Waits up to 10 s until the service cancels its request to the provider. Returns how many ms after `startedAt` (ms since 1970) it did so. */
export async function waitForCancellation({ provider }: System, startedAt: number): Promise<number> {
  const readClosedAt = () => {
    const closedAt = provider.closedByClient()[0]?.closedByClientAt;
    if (closedAt === undefined) throw new Error("the service did not cancel its request to the provider");
    return closedAt;
  };
  return (await vi.waitFor(readClosedAt, { timeout: 10_000, interval: 10 })) - startedAt;
}

/**
 * Measures up to three times, until a time is below MAX_CANCEL_MS, and returns the shortest, because a busy machine can only make a time
 * longer. tests/edge/suites/disconnects.ts, which runs alone, limits the longest time of many disconnects.
 */
export async function findShortestMs({ provider }: System, measure: () => Promise<number>): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 3 && shortest >= MAX_CANCEL_MS; attempt++) {
    provider.reset();
    shortest = Math.min(shortest, await measure());
  }
  return shortest;
}
