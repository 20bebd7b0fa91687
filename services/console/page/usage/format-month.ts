import { getLocale } from "../i18n/language.ts";

const MONTH = new Intl.DateTimeFormat(getLocale(), { month: "long", year: "numeric", timeZone: "UTC" });

/** Formats a UTC month ("YYYY-MM") with its name in the user's language. */
export function formatMonth(month: string): string {
  return MONTH.format(new Date(`${month}-01T00:00:00Z`));
}
