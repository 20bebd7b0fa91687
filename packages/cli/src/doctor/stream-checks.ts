import { type Finding, fail, pass, warn } from "./finding.ts";
import { readHeader } from "./http-request.ts";
import { type PacedRun, TICKS, type Tick, type UnansweredRun } from "./paced-run.ts";

/** Only events that were sent at least this far apart are expected to arrive apart. */
const MIN_SENT_GAP_MS = 50;
/** Events that arrive less than this far apart count as having arrived together. */
const MAX_TOGETHER_GAP_MS = 20;

/** If more than this share of the pairs (see Pace) arrived together, checkBuffering fails. */
const FAILING_SHARE = 1 / 2;
/** If more than this share of the pairs (see Pace) arrived together, checkBuffering warns. */
const WARNING_SHARE = 1 / 5;

export type Pace = {
  /** Pairs of consecutive events that were sent at least MIN_SENT_GAP_MS apart. */
  pairs: number;
  /** The pairs whose events arrived together. */
  together: number;
  /** The difference between the largest and the smallest delay of an event. */
  delaySpreadMs: number;
};

export function measurePace(ticks: readonly Tick[]): Pace {
  const arrivalGapsMs = ticks.flatMap((tick, index) => {
    const before = ticks[index - 1];
    return before !== undefined && tick.sentMs - before.sentMs >= MIN_SENT_GAP_MS
      ? [tick.arrivedMs - before.arrivedMs]
      : [];
  });
  const delays = ticks.map(({ sentMs, arrivedMs }) => arrivedMs - sentMs);
  return {
    pairs: arrivalGapsMs.length,
    together: arrivalGapsMs.filter((gapMs) => gapMs < MAX_TOGETHER_GAP_MS).length,
    delaySpreadMs: delays.length === 0 ? 0 : Math.max(...delays) - Math.min(...delays),
  };
}

/** Checks whether all events arrive unchanged, and one by one. */
export function checkBuffering(run: PacedRun): Finding {
  const { pairs, together, delaySpreadMs } = measurePace(run.ticks);
  if (run.damagedEvent !== undefined) {
    return fail("buffering", `event ${run.damagedEvent} is not valid JSON: a proxy changes the events`, {
      fix: "find the proxy that changes response bodies, and exclude /api/ from it",
    });
  }
  if (run.ticks.length === 0)
    return fail("buffering", "no event arrived: the response was cut off or is buffered", { cause: "buffering" });
  const batched = `${together} of ${pairs} events arrived together with the previous one`;
  if (together > pairs * FAILING_SHARE) {
    const seconds = (delaySpreadMs / 1_000).toFixed(1);
    const problem = `${batched}, and their delays differed by up to ${seconds} s`;
    return fail("buffering", `${problem}: a proxy buffers them`, { cause: "buffering" });
  }
  // If the stream was cut off in the silence after the last tick, checkSilence reports the failure.
  if (run.done === undefined && (run.ticks.length < TICKS || run.silenceMs === 0))
    return fail("buffering", describeCut(run), { cause: "timeout" });
  if (together > pairs * WARNING_SHARE) return warn("buffering", batched, { cause: "buffering" });
  const delays = `their delays differed by at most ${delaySpreadMs} ms`;
  return pass("buffering", `${run.ticks.length} events arrived one by one, and ${delays}`);
}

export function checkCompression(run: PacedRun): Finding {
  const encoding = readHeader(run, "content-encoding");
  if (encoding === "" || encoding === "identity") return pass("compression", "the stream is not compressed");
  const why = "the compressor ignores Cache-Control: no-transform and buffers events";
  return fail("compression", `the stream is compressed (${encoding}): ${why}`, { cause: "compression" });
}

/** Checks whether a stream survives a silence. */
export function checkSilence(run: PacedRun | UnansweredRun): Finding {
  const notChecked = (why: string, advice = "run the command again") =>
    warn("idle_timeout", `not checked, because ${why}: ${advice}`);
  if ("errorCode" in run) return notChecked(`the stream got no response (${run.errorCode})`);
  if (!run.isStream) return notChecked(`the stream was refused with status ${run.status}`);
  if (run.damagedEvent !== undefined) return notChecked("a proxy changes the events", "correct the proxy first");
  if (run.done?.finishReason === "error") return notChecked("the edge was shutting down");
  const silence = `${run.silenceMs / 1_000} s`;
  if (run.done !== undefined) return pass("idle_timeout", `the stream survived a silence of ${silence}`);
  const last = run.ticks.at(-1)?.arrivedMs;
  // A stream without the last tick was cut off before the silence began.
  if (last === undefined || run.ticks.length < TICKS)
    return fail("idle_timeout", describeCut(run), { cause: "timeout" });
  const after = ((run.endedMs - last) / 1_000).toFixed(1);
  const total = (run.endedMs / 1_000).toFixed(1);
  return fail(
    "idle_timeout",
    `the stream was cut off ${after} s into a silence of ${silence}, ${total} s after the request`,
    { cause: "timeout" },
  );
}

function describeCut({ ticks, endedMs }: PacedRun): string {
  const total = (endedMs / 1_000).toFixed(1);
  return `the stream was cut off after ${ticks.length} of ${TICKS} events, ${total} s after the request`;
}
