/** A decimal in units of 10^-10, the precision of costs in the call log. Sums are exact. */
export type Decimal = bigint;

const PLACES = 10;
const UNITS_PER_ONE = 10n ** BigInt(PLACES);
const DECIMAL = /^(-?)(\d+)(?:\.(\d{1,10})0*)?$/;

/** Parses a text such as "12.5". Throws RangeError if the text is not a decimal or needs more than ten places. */
export function parseDecimal(text: string): Decimal {
  const [, sign, integer, fraction = ""] = DECIMAL.exec(text) ?? [];
  if (integer === undefined) throw new RangeError(`"${text}" is not a decimal with at most ${PLACES} places`);
  const units = BigInt(integer) * UNITS_PER_ONE + BigInt(fraction.padEnd(PLACES, "0"));
  return sign === "-" ? -units : units;
}

export function formatDecimal(units: Decimal): string {
  const magnitude = units < 0n ? -units : units;
  const fraction = String(magnitude % UNITS_PER_ONE)
    .padStart(PLACES, "0")
    .replace(/0+$/, "");
  return `${units < 0n ? "-" : ""}${magnitude / UNITS_PER_ONE}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Formats the text of a decimal for display, with at least 2 and at most `places` decimal places. Rounds half away from zero. */
export function formatRounded(text: string, places: number): string {
  const units = parseDecimal(text);
  const step = 10n ** BigInt(PLACES - places);
  const magnitude = units < 0n ? -units : units;
  const rounded = ((magnitude + step / 2n) / step) * step;
  const [integer = "", fraction = ""] = formatDecimal(rounded).split(".");
  return `${units < 0n && rounded > 0n ? "-" : ""}${BigInt(integer).toLocaleString("en-US")}.${fraction.padEnd(2, "0")}`;
}
