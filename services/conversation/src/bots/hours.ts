const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const DAY = `(${DAYS.join("|")})`;
const TIME = "(\\d\\d):(\\d\\d)";
const RANGE = new RegExp(`^${DAY}(?:-${DAY})? ${TIME}-${TIME}$`);

type Range = { firstDay: number; lastDay: number; startMinute: number; endMinute: number };

/** Returns undefined if the text is no range of days and times such as `mon-fri 09:00-17:30`. */
function parseRange(text: string): Range | undefined {
  const [, first = "", last = first, ...times] = RANGE.exec(text) ?? [];
  const [startHour = 0, startOfHour = 0, endHour = 0, endOfHour = 0] = times.map(Number);
  const range = {
    firstDay: DAYS.indexOf(first),
    lastDay: DAYS.indexOf(last),
    startMinute: startHour * 60 + startOfHour,
    endMinute: endHour * 60 + endOfHour,
  };
  const isValid =
    startOfHour < 60 && endOfHour < 60 && range.endMinute <= 24 * 60 && range.startMinute < range.endMinute;
  return first !== "" && isValid ? range : undefined;
}

/** Whether a text is a range of days and times. The end may be 24:00; the days may pass Sunday, as in `sat-mon`. */
export function isHoursRange(text: string): boolean {
  return parseRange(text) !== undefined;
}

/** Whether a time is within one of the ranges, in a time zone. Without ranges, it always is. */
export function isWithinHours(ranges: readonly string[], timeZone: string, time: Date): boolean {
  if (ranges.length === 0) return true;
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, weekday: "short", hour: "2-digit", minute: "2-digit" });
  const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]));
  const day = DAYS.indexOf((parts.weekday ?? "").toLowerCase());
  const minute = Number(parts.hour) * 60 + Number(parts.minute);
  return ranges.some((text) => {
    const range = parseRange(text);
    if (range === undefined || minute < range.startMinute || minute >= range.endMinute) return false;
    const { firstDay, lastDay } = range;
    return firstDay <= lastDay ? day >= firstDay && day <= lastDay : day >= firstDay || day <= lastDay;
  });
}
