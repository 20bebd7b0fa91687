import type { MonthlyUsage } from "@parley/rpc/quota";
import { formatNumber } from "../i18n/numbers.ts";
import { t } from "../i18n/t.tsx";

/** The meter warns from this share of the quota on. 80 % is also the threshold of the metric parley_quota_workspaces_near_cap. */
const WARNING_SHARE = 0.8;

/** Returns the part of a month's messages that is charged to the plan, and not to credits or the overage. */
export function planUsed({ used, creditUsed, overageUsed }: MonthlyUsage): number {
  return used - creditUsed - overageUsed;
}

/** The used, held and remaining messages of a workspace's plan in this month, and its credits and overage if it has them. */
export function QuotaFigures({ usage }: { usage: MonthlyUsage }) {
  const { held, cap, creditUsed, creditLeft, overageUsed, overageCap } = usage;
  const used = planUsed(usage);
  const figures = [
    [t("Used"), t("{part} of {total}", { part: used, total: cap })],
    [t("Being answered"), formatNumber(held)],
    [t("Left"), formatNumber(Math.max(0, cap - used - held))],
    ...(creditUsed + creditLeft > 0 ? [[t("Credits left"), formatNumber(creditLeft)] as const] : []),
    ...(overageUsed + overageCap > 0
      ? [[t("Overage"), t("{part} of {total}", { part: overageUsed, total: overageCap })] as const]
      : []),
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
