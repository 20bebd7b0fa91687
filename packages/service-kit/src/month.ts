import { invalidArgument } from "./errors.ts";
import type { Environment } from "./settings/environment.ts";

/** Longer than the reconciler can look back (RECONCILE_DAYS is at most 62). */
const MIN_RETENTION_MONTHS = 3;

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

/** Parses a UTC month, "YYYY-MM". Returns undefined for an empty text, and throws invalid_argument for a malformed one. */
export function parseMonth(text: string): string | undefined {
  if (text === "") return undefined;
  if (MONTH.test(text)) return text;
  throw invalidArgument("month must look like 2026-11");
}

/** Parses a UTC day, "YYYY-MM-DD". Returns undefined for an empty text. Throws invalid_argument for any other text. */
export function parseDay(text: string): string | undefined {
  if (text === "") return undefined;
  const time = Date.parse(`${text}T00:00:00Z`);
  // Date reads 30 February as 2 March.
  if (!Number.isNaN(time) && new Date(time).toISOString().slice(0, 10) === text) return text;
  throw invalidArgument("day must look like 2026-11-22");
}

/**
 * Reads USAGE_RETENTION_MONTHS. The turns and usage ledger rows of a closed month are kept for this many months after its end; 0 keeps
 * them forever.
 */
export function readUsageRetention(environment: Environment): number {
  const months = environment.integer("USAGE_RETENTION_MONTHS", 13, { min: 0, max: 1_200 });
  if (months > 0 && months < MIN_RETENTION_MONTHS)
    environment.addProblem(`USAGE_RETENTION_MONTHS must be 0 or at least ${MIN_RETENTION_MONTHS}`);
  return months;
}
