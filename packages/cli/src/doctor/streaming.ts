import { headerOf } from "./exchange.ts";
import { type Finding, fail, pass, warn } from "./finding.ts";
import type { PacedRun, Tick } from "./paced-run.ts";

/** Sent so far apart, events belong apart. */
const APART_MS = 50;
/** Arriving so close together, they came together. */
const TOGETHER_MS = 20;

export type Pace = {
  /** Pairs of neighbours that were sent apart. */
  pairs: number;
  /** Of them, those that arrived together. */
  together: number;
  /** How much later than the most punctual event the least punctual one came. */
  largestDelayMs: number;
};

/** How events that were sent at a pace arrived. */
export function paceOf(ticks: readonly Tick[]): Pace {
  const pairs = ticks.flatMap((tick, index) => {
    const before = ticks[index - 1];
    return before !== undefined && tick.sentMs - before.sentMs >= APART_MS ? [tick.arrivedMs - before.arrivedMs] : [];
  });
  const delays = ticks.map(({ sentMs, arrivedMs }) => arrivedMs - sentMs);
  return {
    pairs: pairs.length,
    together: pairs.filter((gapMs) => gapMs < TOGETHER_MS).length,
    largestDelayMs: delays.length === 0 ? 0 : Math.max(...delays) - Math.min(...delays),
  };
}

/** Whether events come one by one. */
export function judgeBuffering(run: PacedRun): Finding {
  const { pairs, together, largestDelayMs } = paceOf(run.ticks);
  if (run.ticks.length === 0)
    return fail("buffering", "no event arrived: the answer was cut off, or is held back", { ailment: "buffering" });
  const seconds = (largestDelayMs / 1_000).toFixed(1);
  if (together > pairs / 2) {
    const clumps = `${together + 1} of ${run.ticks.length} events arrived in clumps, up to ${seconds} s late`;
    return fail("buffering", `${clumps}: something holds them back`, { ailment: "buffering" });
  }
  if (together > pairs / 5)
    return warn("buffering", `${together} of ${run.ticks.length} events arrived together with the one before`, {
      ailment: "buffering",
    });
  return pass("buffering", `${run.ticks.length} events, one by one, none more than ${largestDelayMs} ms late`);
}

/** Whether the stream comes as it was written. */
export function judgeCompression(run: PacedRun): Finding {
  const encoding = headerOf(run, "content-encoding");
  if (encoding === "" || encoding === "identity") return pass("compression", "the stream is not compressed");
  const why = "a compressor holds events back until it has enough of them, whatever Cache-Control: no-transform says";
  return fail("compression", `the stream is compressed (${encoding}): ${why}`, { ailment: "compression" });
}

/** Whether a stream lives through a silence. */
export function judgeSilence(run: PacedRun): Finding {
  const silence = `${run.silenceMs / 1_000} s`;
  if (run.done?.finishReason === "error") return warn("idle_timeout", "the edge was being stopped: run this again", {});
  if (run.done !== undefined) return pass("idle_timeout", `a silence of ${silence} was lived through`);
  const last = run.ticks.at(-1)?.arrivedMs;
  if (last === undefined)
    return fail("idle_timeout", "the stream was cut off before its first event", { ailment: "timeout" });
  const after = ((run.endedMs - last) / 1_000).toFixed(1);
  const total = (run.endedMs / 1_000).toFixed(1);
  return fail(
    "idle_timeout",
    `the stream was cut off after ${after} s of a silence of ${silence}, ${total} s after the request`,
    { ailment: "timeout" },
  );
}
