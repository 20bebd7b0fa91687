import { isDay } from "@parley/rpc/formats";
import { invalidArgument } from "./errors.ts";
import type { Environment } from "./settings/environment.ts";

/** Longer than the reconciler can look back (RECONCILE_DAYS is at most 62). */
const MIN_RETENTION_MONTHS = 3;

/** Parses a UTC day, "YYYY-MM-DD". Returns undefined for an empty text. Throws invalid_argument for any other text. */
export function parseDay(text: string): string | undefined {
  if (text === "") return undefined;
  if (isDay(text)) return text;
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
