import { InvalidArgumentError, Option } from "@commander-js/extra-typings";

export const PLANS = ["free", "pro", "scale"] as const;

/** The same words for the same option everywhere. */
export const workspaceOption = ["--workspace <id>", "the workspace"] as const;
export const botOption = ["--bot <slug>", "the bot"] as const;

export function monthOption() {
  return new Option("--month <YYYY-MM>", "the UTC month; the current one unless given").argParser((text) => {
    if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) throw new InvalidArgumentError('A month is written like "2026-11".');
    return text;
  });
}

/** Collects an option that may be given several times. */
export function collect(value: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), value];
}

/** A parser of whole numbers from `min` to `max`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}
