import { InvalidArgumentError, Option } from "@commander-js/extra-typings";

export const PLANS = ["free", "pro", "scale"] as const;

export const workspaceOption = ["--workspace <id>", "Select the workspace.", refuseEmpty] as const;
export const botOption = ["--bot <slug>", "Select the bot.", refuseEmpty] as const;

/** Refuses the empty value of an unset shell variable. For some calls, an empty workspace id selects all workspaces. */
export function refuseEmpty(text: string): string {
  if (text !== "") return text;
  throw new InvalidArgumentError("It must not be empty.");
}

export function monthOption(description = "Select the UTC month (default: current).") {
  return new Option("--month <YYYY-MM>", description).argParser((text) => {
    if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) throw new InvalidArgumentError('Write it like "2026-11".');
    return text;
  });
}

/** Collects the values of a repeatable option. */
export function appendValue(value: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), value];
}

/** Returns a parser of whole numbers from `min` to `max`. */
export function wholeNumberParser(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/** Returns a parser of numbers from `min` to `max`, or of the empty text, which unsets the number. */
export function optionalNumberParser(min: number, max: number): (text: string) => { value?: number } {
  return (text) => {
    if (text === "") return {};
    const value = Number(text);
    if (text.trim() === text && value >= min && value <= max) return { value };
    throw new InvalidArgumentError(`It must be a number from ${min} to ${max}, or ''.`);
  };
}

/** Parses a date or a time, in UTC unless the time has an offset. */
export function parseTime(text: string): string {
  const [dateTime] = /^\d{4}-\d\d-\d\d(T.+)?$/.exec(text) ?? [""];
  // Date reads a time without an offset as local time.
  const time = Date.parse(
    /T.*(Z|[+-]\d\d:?\d\d)$/i.test(dateTime) || !dateTime.includes("T") ? dateTime : `${dateTime}Z`,
  );
  // Date reads 30 February as 2 March.
  const day = dateTime.slice(0, 10);
  const isDay = new Date(day).toJSON() === `${day}T00:00:00.000Z`;
  if (!isDay || Number.isNaN(time))
    throw new InvalidArgumentError('Write it like "2026-11-22" or "2026-11-22T18:50:00Z".');
  return new Date(time).toISOString();
}

const SECONDS_BY_UNIT: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Parses a duration such as 90s, 30m, 1h or 7d. Returns seconds, or NaN for any other text. */
export function parseSeconds(text: string): number {
  const [, amount, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  return Number(amount) * (SECONDS_BY_UNIT[unit] ?? Number.NaN);
}

/** Parses a duration before now, or a date or a time as parseTime does. Returns the time, RFC 3339 in UTC. */
export function parseSince(text: string): string {
  const seconds = parseSeconds(text);
  const time = new Date(Date.now() - seconds * 1_000);
  // A year below 1 has another format.
  if (time.getTime() > 0) return time.toISOString();
  if (/^\d{4}-/.test(text)) return parseTime(text);
  throw new InvalidArgumentError('Write it like 90m, 24h, 7d or "2026-11-22T18:50:00Z".');
}
