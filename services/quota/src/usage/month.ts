/** The instant a month's count starts anew: midnight UTC on the first of the next month, RFC 3339. */
export function resetsAt(month: string): string {
  const [year = 0, number = 0] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number, 1)).toISOString().replace(".000Z", "Z");
}
