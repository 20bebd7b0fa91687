import { getLocale } from "../i18n/language.ts";
import { t } from "../i18n/t.tsx";

const TENTHS = new Intl.NumberFormat(getLocale(), { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** Formats milliseconds, such as "850 ms" or "1.2 s". */
export function formatDuration(ms: number): string {
  return ms < 1_000
    ? t("{milliseconds} ms", { milliseconds: ms })
    : t("{seconds} s", { seconds: TENTHS.format(ms / 1_000) });
}
