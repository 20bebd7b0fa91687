/** A decimal as a whole number of its tenth place's units: what the call ledger keeps, added up without rounding. */
export type Decimal = bigint;

const PLACES = 10;
const UNIT = 10n ** BigInt(PLACES);
const DECIMAL = /^(-?)(\d+)(?:\.(\d{1,10})0*)?$/;

/** Reads "12.5". Throws RangeError for what is no decimal of at most ten places. */
export function parseDecimal(text: string): Decimal {
  const [, sign, whole, fraction = ""] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) throw new RangeError(`"${text}" is no decimal of at most ${PLACES} places`);
  const units = BigInt(whole) * UNIT + BigInt(fraction.padEnd(PLACES, "0"));
  return sign === "-" ? -units : units;
}

/** Writes "12.5": every place that says something, and no other. */
export function decimalText(units: Decimal): string {
  const size = units < 0n ? -units : units;
  const fraction = String(size % UNIT)
    .padStart(PLACES, "0")
    .replace(/0+$/, "");
  return `${units < 0n ? "-" : ""}${size / UNIT}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Writes it for people, with at least two places and rounded to at most `places`, half away from zero. */
export function roundedText(text: string, places: number): string {
  const units = parseDecimal(text);
  const step = 10n ** BigInt(PLACES - places);
  const size = units < 0n ? -units : units;
  const rounded = ((size + step / 2n) / step) * step;
  const [whole = "", fraction = ""] = decimalText(rounded).split(".");
  return `${units < 0n ? "-" : ""}${BigInt(whole).toLocaleString("en-US")}.${fraction.padEnd(2, "0")}`;
}
