import type { OpenTurnResponse } from "@parley/rpc/conversation";
import type { Waits } from "@parley/rpc/llm";
import type { Stopwatch } from "./stopwatch.ts";

/** Returns the phases until now, and their sum as the latency. A latency from a second reading of the clock could differ from the sum. */
export function readTimings(stopwatch: Stopwatch) {
  const { phases } = stopwatch;
  const total = phases.reduce((sum, { microseconds }) => sum + microseconds, 0);
  return {
    latencyMs: Math.round(total / 1_000),
    phases: phases.map(({ name, microseconds }) => ({ name, microseconds: BigInt(microseconds) })),
  };
}

/** Moves the time of the knowledge search, which OpenTurn measured, from the current phase to `retrieval`. */
export function splitRetrievalTime(stopwatch: Stopwatch, { retrievalMicroseconds }: OpenTurnResponse): void {
  stopwatch.split([["retrieval", toMs(retrievalMicroseconds)]]);
}

/** Splits the wait for the first event into the llm-proxy's `queue`, the `provider`, and the rest, which is Parley's `own`. */
export function splitProviderWait(stopwatch: Stopwatch, { queueMicroseconds, providerMicroseconds }: Waits): void {
  stopwatch.split(
    [
      ["queue", toMs(queueMicroseconds)],
      ["provider", toMs(providerMicroseconds)],
    ],
    "own",
  );
}

function toMs(microseconds: bigint): number {
  return Number(microseconds) / 1_000;
}
