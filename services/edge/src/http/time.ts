/** A date, or a time of RFC 3339. A plus sign that the client did not encode arrives as a space. */
const TIME = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?([Zz]|[+\- ]\d\d:\d\d))?$/;

/** Returns microseconds since 1970; 0 for a time before 1970; undefined for a text that is no time. A date means its start in UTC. */
export function parseTime(text: string): bigint | undefined {
  const [, date = "", time = "00:00:00", fraction = "", offset = "Z"] = TIME.exec(text) ?? [];
  const milliseconds = Date.parse(`${date}T${time}${offset.replace(" ", "+").toUpperCase()}`);
  // Date.parse turns the 30th of February into a day in March.
  const isDate = !Number.isNaN(milliseconds) && new Date(`${date}T00:00:00Z`).toISOString().startsWith(date);
  if (!isDate) return undefined;
  const microseconds = BigInt(milliseconds) * 1_000n + BigInt(fraction.padEnd(6, "0"));
  return microseconds < 0n ? 0n : microseconds;
}
