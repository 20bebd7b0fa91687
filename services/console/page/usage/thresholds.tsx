import type { MonthlyUsage } from "@parley/rpc/quota";
import { plural, T, t } from "../i18n/t.tsx";
import { thresholdsOf } from "./by-bot.ts";

export function Thresholds({ usage }: { usage: MonthlyUsage }) {
  const thresholds = thresholdsOf(usage);
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
            <span className="muted">{t("{messages} left until then", { messages: messages - usage.used })}</span>
          )}
        </li>
      ))}
    </ul>
  );
}
