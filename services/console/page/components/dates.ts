import { getLocale } from "../i18n/language.ts";

const DATE = new Intl.DateTimeFormat(getLocale(), { dateStyle: "medium" });
const DATE_AND_TIME = new Intl.DateTimeFormat(getLocale(), { dateStyle: "medium", timeStyle: "short" });
const DAY = new Intl.DateTimeFormat(getLocale(), { dateStyle: "medium", timeZone: "UTC" });

/** Formats a UTC day, given as "YYYY-MM-DD", in the user's language. */
export function formatDay(day: string): string {
  return DAY.format(new Date(`${day}T00:00:00Z`));
}

export function formatDate(iso: string): string {
  return DATE.format(new Date(iso));
}

export function formatDateTime(iso: string): string {
  return DATE_AND_TIME.format(new Date(iso));
}
