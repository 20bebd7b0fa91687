import type { MonthlyUsage } from "@parley/rpc/quota";
import { formatNumber } from "../i18n/numbers.ts";
import { t } from "../i18n/t.tsx";

/** The meter warns from this share of the quota on. This share is also the lower threshold that thresholdsOf() returns. */
const WARNING_SHARE = 0.8;

/** The used, held and remaining messages of a workspace in this month. */
export function QuotaFigures({ usage: { used, held, cap } }: { usage: MonthlyUsage }) {
  const figures = [
    [t("Used"), t("{part} of {total}", { part: used, total: cap })],
    [t("Being answered"), formatNumber(held)],
    [t("Left"), formatNumber(Math.max(0, cap - used - held))],
  ] as const;
  return (
    <>
      <dl className="figures">
        {figures.map(([name, figure]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{figure}</dd>
          </div>
        ))}
      </dl>
      <meter
        className="quota"
        aria-label={t("Messages used of the month's quota")}
        min={0}
        max={Math.max(cap, 1)}
        high={cap * WARNING_SHARE}
        value={Math.min(used + held, cap)}
      />
    </>
  );
}
