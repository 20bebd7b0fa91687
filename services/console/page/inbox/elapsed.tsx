import { useEffect, useState } from "react";
import { formatElapsed } from "../components/durations.ts";
import { t } from "../i18n/t.tsx";

const SECOND_MS = 1_000;

/** Shows how long a visitor has waited, and counts on. */
export function WaitingTime({ since }: { since: string }) {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, []);
  const duration = formatElapsed(nowMs - Date.parse(since));
  return <span className="badge waiting">{t("Waiting for {duration}", { duration })}</span>;
}
