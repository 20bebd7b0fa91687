const DAY_MS = 86_400_000;

/** Formats times in a language, in the visitor's time zone. */
export interface Times {
  /** Returns the time of day. */
  formatTime(time: number): string;
  /** Returns the day: "today", "yesterday" or the date. */
  formatDay(time: number): string;
}

/** Returns the browser's regional variant of a language, which decides between 14:05 and 2:05 PM. Returns `lang` if the browser has none. */
export function selectLocale(lang: string, browserLanguages: readonly string[] = navigator.languages): string {
  return browserLanguages.find((each) => each.toLowerCase().startsWith(`${lang}-`)) ?? lang;
}

/** `lang` is the language of the texts. */
export function createTimes(lang: string, browserLanguages?: readonly string[]): Times {
  const locale = selectLocale(lang, browserLanguages);
  const times = new Intl.DateTimeFormat(locale, { timeStyle: "short" });
  const dates = new Intl.DateTimeFormat(locale, { dateStyle: "full" });
  const days = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
  return {
    formatTime: (time) => times.format(time),
    formatDay(time) {
      // Rounds, because a day with a clock change has 23 or 25 hours.
      const age = Math.round((startOfDay(Date.now()) - startOfDay(time)) / DAY_MS);
      return age === 0 || age === 1 ? days.format(-age, "day") : dates.format(time);
    },
  };
}

function startOfDay(time: number): number {
  return new Date(time).setHours(0, 0, 0, 0);
}
