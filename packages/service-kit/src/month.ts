import { invalid } from "./errors.ts";

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

/** Parses a UTC month "YYYY-MM". Returns undefined for an empty text, and throws invalid_argument for any other. */
export function parseMonth(text: string): string | undefined {
  if (text === "") return undefined;
  if (MONTH.test(text)) return text;
  throw invalid("month must look like 2026-11");
}
