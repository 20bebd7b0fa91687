import type { GetUsageResponse } from "@parley/rpc/quota";

/** Explains today's replies that cost provider output but did not count. Empty on a day without such replies. */
export function UnpaidNote({ usage: { unpaid, unpaidLimit } }: { usage: GetUsageResponse }) {
  if (unpaid === 0) return null;
  const isAtLimit = unpaid >= unpaidLimit;
  return (
    <p className="hint">
      {unpaid.toLocaleString()} of today’s answers were dropped or blocked after they had begun, so they do not count.{" "}
      {isAtLimit
        ? "That is the limit of a day: visitors get no answers until midnight UTC."
        : `After ${unpaidLimit.toLocaleString()} on a day, visitors get no more answers until midnight UTC.`}
    </p>
  );
}
