import type { MonthlyUsage } from "@parley/rpc/quota";
import { plural, t } from "../i18n/t.tsx";

/** Explains today's replies that cost provider output but did not count. Empty on a day without such replies. */
export function UnpaidNote({ usage: { unpaid, unpaidLimit } }: { usage: MonthlyUsage }) {
  if (unpaid === 0) return null;
  const isAtLimit = unpaid >= unpaidLimit;
  return (
    <p className="hint">
      {plural(
        unpaid,
        "{count} of today’s answers was dropped or blocked after it had begun, so it does not count.",
        "{count} of today’s answers were dropped or blocked after they had begun, so they do not count.",
      )}{" "}
      {isAtLimit
        ? t("That is the limit of a day: visitors get no answers until midnight UTC.")
        : t("After {unpaidLimit} on a day, visitors get no more answers until midnight UTC.", { unpaidLimit })}
    </p>
  );
}
