import { getLocale } from "../i18n/language.ts";
import { t } from "../i18n/t.tsx";

const TENTHS = new Intl.NumberFormat(getLocale(), { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** Formats milliseconds, such as "850 ms" or "1.2 s". */
export function formatDuration(ms: number): string {
  return ms < 1_000
    ? t("{milliseconds} ms", { milliseconds: ms })
    : t("{seconds} s", { seconds: TENTHS.format(ms / 1_000) });
}

/** Formats milliseconds as a running clock, such as "2:05" or "1:02:05". */
export function formatElapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, index) => (index === 0 ? `${part}` : String(part).padStart(2, "0"))).join(":");
}

const RETENTION_UNITS = [
  ["day", 24 * 60],
  ["hour", 60],
  ["minute", 1],
] as const;

/** Formats a retention in minutes in the largest unit that gives a whole number, such as "90 days" or "30 minutes". 0 is no limit. */
export function formatRetention(minutes: number): string {
  if (minutes === 0) return t("no limit");
  const [unit, unitMinutes] = RETENTION_UNITS.find(([, size]) => minutes % size === 0) ?? ["minute", 1];
  return new Intl.NumberFormat(getLocale(), { style: "unit", unit, unitDisplay: "long" }).format(minutes / unitMinutes);
}
