import type { GetUsageResponse } from "@parley/rpc/quota";
import { thresholdsOf } from "./by-bot.ts";

export function Thresholds({ usage }: { usage: GetUsageResponse }) {
  const thresholds = thresholdsOf(usage);
  if (thresholds.length === 0) return null;
  return (
    <ul className="thresholds" aria-label="Warning thresholds">
      {thresholds.map(({ percent, messages, isReached }) => (
        <li key={percent}>
          <span>
            <strong>{percent} %</strong> of the quota: {messages.toLocaleString()} messages
          </span>
          {isReached ? (
            <span className="badge">Reached</span>
          ) : (
            <span className="muted">{(messages - usage.used).toLocaleString()} left until then</span>
          )}
        </li>
      ))}
    </ul>
  );
}
