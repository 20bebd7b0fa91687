import { format, getFormatFromId, isDateFormat } from "numfmt";
import type { OfficePackage } from "./office-package.ts";

/** The short date and date with time, which a spreadsheet shows as in its user's country. */
const LOCALE_DATES: ReadonlyMap<number, string> = new Map([
  [14, "yyyy-mm-dd"],
  [22, "yyyy-mm-dd hh:mm"],
]);
const GENERAL = "General";
/** The first day in the calendar that begins in 1904, counted in the usual one. */
const DAYS_TO_1904 = 1_462;

/** Formats the numbers of cells as a spreadsheet shows them. */
export class CellFormats {
  readonly #codeById = new Map<number, string>(LOCALE_DATES);
  /** The format of each style of cells. */
  readonly #idByStyle: number[] = [];

  /** Reads the formats from a styles part. */
  async read(file: OfficePackage, path: string): Promise<void> {
    let isInCellStyles = false;
    await file.readXml(path, {
      open: (name, { numFmtId = "0", formatCode = "" }) => {
        if (name === "cellXfs") isInCellStyles = true;
        else if (name === "numFmt") this.#codeById.set(Number(numFmtId), formatCode);
        else if (name === "xf" && isInCellStyles) this.#idByStyle.push(Number(numFmtId));
      },
      close: (name) => {
        if (name === "cellXfs") isInCellStyles = false;
      },
    });
  }

  formatNumber(value: number, style: number, hasDatesFrom1904: boolean): string {
    const id = this.#idByStyle[style] ?? 0;
    const code = this.#codeById.get(id) ?? getFormatFromId(id) ?? GENERAL;
    // A spreadsheet shows only 11 digits, but an article number has more.
    if (code === GENERAL || code === "@") return String(Number(value.toPrecision(15)));
    try {
      const days = hasDatesFrom1904 && isDateFormat(code) ? value + DAYS_TO_1904 : value;
      return format(code, days);
    } catch {
      // The format is invalid.
      return String(value);
    }
  }
}
