import { invalid } from "./errors.ts";

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

/** A UTC month "YYYY-MM", or undefined for an empty one; throws invalid_argument for anything else. */
export function parseMonth(text: string): string | undefined {
  if (text === "") return undefined;
  if (MONTH.test(text)) return text;
  throw invalid("month must look like 2026-11");
}
