const DAY_MS = 86_400_000;
const AVERAGED_DAYS = 7;

export type Quota = { used: number; held: number; cap: number; resetsAt: string };
export type Forecast = {
  /** Messages used by the end of the month. */
  total: number;
  /** When the quota will be exhausted; undefined if it lasts until the end of the month. */
  exhaustedAt: Date | undefined;
};

/** Predicts the month's usage from the daily average of replies in the last seven full days. Returns undefined if these days had no reply. */
export function forecast(
  { used, held, cap, resetsAt }: Quota,
  repliesByDay: ReadonlyMap<string, number>,
  nowMs: number,
): Forecast | undefined {
  const days = lastDays(AVERAGED_DAYS + 1, nowMs).slice(0, AVERAGED_DAYS);
  const average = days.reduce((sum, day) => sum + (repliesByDay.get(day) ?? 0), 0) / AVERAGED_DAYS;
  if (average === 0) return undefined;
  const usedOrHeld = used + held;
  const daysLeft = Math.max(0, Date.parse(resetsAt) - nowMs) / DAY_MS;
  const total = Math.round(usedOrHeld + average * daysLeft);
  const exhaustedAt = total > cap ? new Date(nowMs + (Math.max(0, cap - usedOrHeld) / average) * DAY_MS) : undefined;
  return { total, exhaustedAt };
}

/** Returns the latest `count` UTC days as "YYYY-MM-DD", oldest first, up to today. */
export function lastDays(count: number, nowMs: number): string[] {
  return Array.from({ length: count }, (_, index) =>
    new Date(nowMs - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );
}
