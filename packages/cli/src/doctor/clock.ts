import { type Finding, fail, pass, warn } from "./finding.ts";
import type { PacedRun } from "./paced-run.ts";

/** The clock skew that the edge allows when it checks the times in an access token. */
const TOKEN_SKEW_MS = 30_000;
const NOTICEABLE_SKEW_MS = 5_000;

/**
 * Compares the edge's clock with this machine's. The edge wrote its time after this machine sent the request and before the `meta` event arrived.
 */
export function checkClock(run: PacedRun): Finding {
  if (run.meta === undefined) return warn("clock", "not checked: the stream did not start", {});
  const edgeTimeMs = Date.parse(run.meta.server_time);
  const [earliest, latest] = [run.startedAtMs, run.startedAtMs + run.meta.arrivedMs];
  const skewMs = edgeTimeMs < earliest ? edgeTimeMs - earliest : edgeTimeMs > latest ? edgeTimeMs - latest : 0;
  const absoluteSkewMs = Math.abs(skewMs);
  const seconds = Math.round(absoluteSkewMs / 1_000);
  const message = `the edge's clock is ${seconds} s ${skewMs < 0 ? "behind" : "ahead of"} this machine's`;
  const advice = {
    fix: "synchronise both machines with NTP (chrony or systemd-timesyncd)",
  };
  if (absoluteSkewMs > TOKEN_SKEW_MS)
    return fail("clock", `${message}: the edge tolerates at most 30 s of clock skew in access tokens`, advice);
  if (absoluteSkewMs > NOTICEABLE_SKEW_MS) return warn("clock", message, advice);
  return pass("clock", "the edge's clock and this machine's agree");
}
