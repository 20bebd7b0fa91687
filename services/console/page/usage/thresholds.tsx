import { type MonthlyUsage, WorkspaceAdminService } from "@parley/rpc/quota";
import { useState } from "react";
import { useMayCall } from "../api/session.ts";
import { planUsed } from "../components/quota-figures.tsx";
import { plural, T, t } from "../i18n/t.tsx";
import { thresholdsOf } from "./by-bot.ts";
import { ChangeThresholds } from "./change-thresholds.tsx";

/** `percents` are the thresholds in percent of the quota, the lowest first. */
type ThresholdsProps = { usage: MonthlyUsage; percents: readonly number[] };

export function Thresholds({ usage, percents }: ThresholdsProps) {
  const mayChange = useMayCall(WorkspaceAdminService.method.setUsageThresholds);
  const [isChanging, setChanging] = useState(false);
  const used = planUsed(usage);
  const thresholds = thresholdsOf({ used, cap: usage.cap }, percents);
  return (
    <>
      {thresholds.length > 0 && (
        <ul className="thresholds" aria-label={t("Warning thresholds")}>
          {thresholds.map(({ percent, messages, isReached }) => (
            <li key={percent}>
              <span>
                <T
                  text="{percent} of the quota: {messages}"
                  percent={<strong>{t("{percent} %", { percent })}</strong>}
                  messages={plural(messages, "{count} message", "{count} messages")}
                />
              </span>
              {isReached ? (
                <span className="badge">{t("Reached")}</span>
              ) : (
                <span className="muted">{t("{messages} left until then", { messages: messages - used })}</span>
              )}
            </li>
          ))}
        </ul>
      )}
      {mayChange && (
        <button type="button" className="button small change-thresholds" onClick={() => setChanging(true)}>
          {t("Change the thresholds")}
        </button>
      )}
      {isChanging && <ChangeThresholds percents={percents} onClose={() => setChanging(false)} />}
    </>
  );
}
