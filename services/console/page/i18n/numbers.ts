import { getLocale } from "./language.ts";

const NUMBER = new Intl.NumberFormat(getLocale());
const PERCENT = new Intl.NumberFormat(getLocale(), { style: "percent" });

export function formatNumber(value: number | bigint): string {
  return NUMBER.format(value);
}

/** Formats a share from 0 to 1 as a percentage. */
export function formatPercent(share: number): string {
  return PERCENT.format(share);
}
