/** Returns when a month's usage resets: midnight UTC on the first of the next month, RFC 3339. */
export function computeResetTime(month: string): string {
  const [year = 0, monthNumber = 0] = month.split("-").map(Number);
  // Date.UTC counts months from 0, so `monthNumber`, which counts from 1, is the next month.
  return new Date(Date.UTC(year, monthNumber, 1)).toISOString().replace(".000Z", "Z");
}
