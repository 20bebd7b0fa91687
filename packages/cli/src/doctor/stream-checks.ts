import { type Finding, fail, pass, warn } from "./finding.ts";
import { readHeader } from "./http-request.ts";
import type { LostRun, PacedRun, Tick } from "./paced-run.ts";

/** Events sent at least this far apart must not arrive together. */
const MIN_SENT_GAP_MS = 50;
/** Events that arrive closer than this count as arriving together. */
const MAX_TOGETHER_GAP_MS = 20;

/** The shares of pairs that arrived together above which the check fails or warns. */
const FAILING_SHARE = 1 / 2;
const WARNING_SHARE = 1 / 5;

export type Pace = {
  /** Pairs of consecutive events that were sent apart. */
  pairs: number;
  /** The pairs that arrived together. */
  together: number;
  /** The largest difference in delay between two events. */
  largestDelayMs: number;
};

/** Measures how paced events arrived. */
export function measurePace(ticks: readonly Tick[]): Pace {
  const pairs = ticks.flatMap((tick, index) => {
    const before = ticks[index - 1];
    return before !== undefined && tick.sentMs - before.sentMs >= MIN_SENT_GAP_MS
      ? [tick.arrivedMs - before.arrivedMs]
      : [];
  });
  const delays = ticks.map(({ sentMs, arrivedMs }) => arrivedMs - sentMs);
  return {
    pairs: pairs.length,
    together: pairs.filter((gapMs) => gapMs < MAX_TOGETHER_GAP_MS).length,
    largestDelayMs: delays.length === 0 ? 0 : Math.max(...delays) - Math.min(...delays),
  };
}

/** Checks whether events arrive one by one. */
export function checkBuffering(run: PacedRun): Finding {
  const { pairs, together, largestDelayMs } = measurePace(run.ticks);
  if (run.ticks.length === 0)
    return fail("buffering", "no event arrived: the response was cut off or is buffered", { cause: "buffering" });
  const seconds = (largestDelayMs / 1_000).toFixed(1);
  if (together > pairs * FAILING_SHARE) {
    const problem = `${together + 1} of ${run.ticks.length} events arrived in batches, up to ${seconds} s late`;
    return fail("buffering", `${problem}: a proxy buffers them`, { cause: "buffering" });
  }
  if (together > pairs * WARNING_SHARE)
    return warn("buffering", `${together} of ${run.ticks.length} events arrived together with the previous one`, {
      cause: "buffering",
    });
  return pass("buffering", `${run.ticks.length} events arrived one by one, at most ${largestDelayMs} ms late`);
}

/** Checks whether a proxy compresses the stream. */
export function checkCompression(run: PacedRun): Finding {
  const encoding = readHeader(run, "content-encoding");
  if (encoding === "" || encoding === "identity") return pass("compression", "the stream is not compressed");
  const why = "the compressor ignores Cache-Control: no-transform and buffers events";
  return fail("compression", `the stream is compressed (${encoding}): ${why}`, { cause: "compression" });
}

/** Checks whether a stream survives a silence. */
export function checkSilence(run: PacedRun | LostRun): Finding {
  if ("lostWith" in run) {
    const why = `the stream got no response (${run.lostWith})`;
    return warn("idle_timeout", `not checked, because ${why}: run the command again`, {});
  }
  const silence = `${run.silenceMs / 1_000} s`;
  if (!run.isStream) {
    const why = `the stream was refused with status ${run.status}`;
    return warn("idle_timeout", `not checked, because ${why}: run the command again`, {});
  }
  if (run.done?.finishReason === "error")
    return warn("idle_timeout", "not checked, because the edge was shutting down: run the command again", {});
  if (run.done !== undefined) return pass("idle_timeout", `the stream survived a silence of ${silence}`);
  const last = run.ticks.at(-1)?.arrivedMs;
  if (last === undefined)
    return fail("idle_timeout", "the stream was cut off before its first event", { cause: "timeout" });
  const after = ((run.endedMs - last) / 1_000).toFixed(1);
  const total = (run.endedMs / 1_000).toFixed(1);
  return fail(
    "idle_timeout",
    `the stream was cut off ${after} s into a silence of ${silence}, ${total} s after the request`,
    { cause: "timeout" },
  );
}
