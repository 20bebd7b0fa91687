import { type Finding, fail, pass, warn } from "./finding.ts";
import type { PacedRun } from "./paced-run.ts";

/** What is forgiven when a token's dates are checked. */
const TOKEN_SKEW_MS = 30_000;
const NOTICEABLE_MS = 5_000;

/** Whether the edge's clock and this machine's agree. Its time was written between the request and its arrival here. */
export function judgeClock(run: PacedRun): Finding {
  if (run.meta === undefined) return warn("clock", "not seen: the stream did not begin", {});
  const at = Date.parse(run.meta.server_time);
  const [earliest, latest] = [run.startedAt, run.startedAt + run.meta.arrivedMs];
  const skewMs = at < earliest ? at - earliest : at > latest ? at - latest : 0;
  const size = Math.abs(skewMs);
  const seconds = Math.round(size / 1_000);
  const message = `the edge's clock is ${seconds} s ${skewMs < 0 ? "behind" : "ahead of"} this machine's`;
  const how = {
    mend: "have both machines keep time by NTP (chrony, systemd-timesyncd), and see which of them is wrong",
  };
  if (size > TOKEN_SKEW_MS) return fail("clock", `${message}: access tokens are refused beyond 30 s`, how);
  if (size > NOTICEABLE_MS) return warn("clock", message, how);
  return pass("clock", "the edge's clock and this machine's agree");
}
