import type { OpenTurnResponse } from "@parley/rpc/conversation";
import type { Waits } from "@parley/rpc/llm";
import type { Stopwatch } from "./stopwatch.ts";

/**
 * Where the time until now went, as the conversation service is told it. The phases' sum is the wall time: a clock that is read a second
 * time may be read milliseconds later.
 */
export function timeOf(watch: Stopwatch) {
  const { phases } = watch;
  const total = phases.reduce((sum, { microseconds }) => sum + microseconds, 0);
  return {
    latencyMs: Math.round(total / 1_000),
    phases: phases.map(({ name, microseconds }) => ({ name, microseconds: BigInt(microseconds) })),
  };
}

/** Of the opening that has just ended, the search for knowledge is a phase of its own. */
export function splitOpening(watch: Stopwatch, { retrievalMicroseconds }: OpenTurnResponse): void {
  watch.split([["retrieval", toMs(retrievalMicroseconds)]]);
}

/** Of the wait for the first token, what the llm-proxy has measured is others'; the rest is our own. */
export function splitWait(watch: Stopwatch, { queueMicroseconds, providerMicroseconds }: Waits): void {
  watch.split(
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
