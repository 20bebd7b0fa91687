import { invalidArgument } from "./errors.ts";
import type { Environment } from "./settings/environment.ts";

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

/** Parses a UTC month "YYYY-MM". Returns undefined for an empty text, and throws invalid_argument for any other. */
export function parseMonth(text: string): string | undefined {
  if (text === "") return undefined;
  if (MONTH.test(text)) return text;
  throw invalidArgument("month must look like 2026-11");
}

/**
 * Reads USAGE_RETENTION_MONTHS: for how many months after its end the turns and the usage ledger of a closed month are kept. 0 keeps them
 * for ever. The minimum is longer than the reconciler looks back (62 days).
 */
export function readUsageRetention(environment: Environment): number {
  const months = environment.integer("USAGE_RETENTION_MONTHS", 13, { min: 0, max: 1_200 });
  if (months > 0 && months < 3) environment.addProblem("USAGE_RETENTION_MONTHS must be 0 or at least 3");
  return months;
}
