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
