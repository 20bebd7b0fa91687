import type { MonthlyUsage } from "@parley/rpc/quota";
import { planUsed } from "../components/quota-figures.tsx";
import { plural, T, t } from "../i18n/t.tsx";
import { thresholdsOf } from "./by-bot.ts";

export function Thresholds({ usage }: { usage: MonthlyUsage }) {
  const used = planUsed(usage);
  const thresholds = thresholdsOf({ used, cap: usage.cap });
  if (thresholds.length === 0) return null;
  return (
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
  );
}
