import { InvalidArgumentError } from "@commander-js/extra-typings";
import { SetRetentionRequestSchema } from "@parley/rpc/quota";
import { limitsOf } from "@parley/rpc/rules";
import { formatCount } from "../output/table.ts";
import { parseSeconds } from "./options.ts";

const HOUR_MINUTES = 60;
const DAY_MINUTES = 24 * HOUR_MINUTES;
const { min: MIN_MINUTES, max: MAX_MINUTES } = limitsOf(SetRetentionRequestSchema.field.retentionMinutes);

/** Parses a retention such as 30m, 12h or 90d. Returns minutes; 0 for "0" and "never". */
export function parseRetention(text: string): number {
  if (text === "0" || text === "never") return 0;
  const minutes = /[mhd]$/.test(text) ? parseSeconds(text) / 60 : Number.NaN;
  if (minutes >= MIN_MINUTES && minutes <= MAX_MINUTES) return minutes;
  const range = `from ${MIN_MINUTES}m to ${MAX_MINUTES / DAY_MINUTES}d`;
  throw new InvalidArgumentError(`It must be a time ${range}, such as 30m, 12h or 90d, or never.`);
}

/** Formats a retention in the largest unit that gives a whole number. */
export function formatRetention(minutes: number): string {
  if (minutes === 0) return "without limit";
  if (minutes % DAY_MINUTES === 0) return formatCount(minutes / DAY_MINUTES, "day");
  if (minutes % HOUR_MINUTES === 0) return formatCount(minutes / HOUR_MINUTES, "hour");
  return formatCount(minutes, "minute");
}
