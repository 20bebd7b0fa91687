import { toOneLine } from "../blocks/block.ts";

/** A run of text at one position of a page. Distances are in the page's units. */
export type PdfRun = {
  text: string;
  /** The left end, and the baseline's height above the bottom of the page. */
  x: number;
  y: number;
  width: number;
  /** The font size. */
  size: number;
};

/** A line of text. `size` is the largest font size of its runs. */
export type PdfLine = {
  text: string;
  size: number;
  y: number;
  /** Whether the line has several cells, as a row of a table. */
  isRow?: boolean;
};

/** Neighbouring runs of a line. Cells of a table are different segments. */
type Segment = { runs: PdfRun[]; left: number; right: number };
type SegmentLine = { segments: Segment[]; y: number; size: number };

// Relative to the font size:
/** Runs on one line have baselines that are closer than this. */
const MAX_BASELINE_SHIFT = 0.4;
const MIN_SPACE = 0.15;
/** Between words of a text whose letters are spaced. */
const MIN_WIDE_SPACE = 0.8;
const MIN_CELL_GAP = 1.5;

/** Columns of prose have at least so many lines, and so many characters in an average line. Otherwise they are columns of a table. */
const MIN_COLUMN_LINES = 4;
const MIN_COLUMN_CHARACTERS = 22;
/** Share of the lines that may cross the gap between columns, such as a title. */
const MAX_CROSSING_SHARE = 0.4;
const MAX_COLUMN_DEPTH = 3;

const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}]/u;
const RIGHT_TO_LEFT_LETTERS = /[\p{Script=Arabic}\p{Script=Hebrew}]/gu;
const LEFT_TO_RIGHT_LETTERS = /\p{Script=Latin}/gu;
/** Ligatures and the forms that Arabic and Hebrew letters have in fonts. Other characters, such as ², keep their form. */
const PRESENTATION_FORMS = /[\ufb00-\ufb4f\ufb50-\ufdff\ufe70-\ufefc]+/g;
/** Matches "S A L E", and one letter. */
const SPACED_LETTERS = /^\S(\s\S)*$/u;
const MIN_SPACED_LETTERS = 4;
const DOT_LEADER = /\s*(?:[.·…]\s*){4,}/g;

/**
 * Combines the runs of a page into lines by their positions, from top to bottom. The cells of a table's row stay in one line. Columns of prose
 * follow one another.
 */
export function toLines(runs: readonly PdfRun[]): PdfLine[] {
  const visible = runs.filter(({ text }) => text.trim() !== "");
  return orderColumns(groupLines(visible), 0)
    .map(formatLine)
    .filter(({ text }) => text !== "");
}

function groupLines(runs: readonly PdfRun[]): SegmentLine[] {
  const lines: { runs: PdfRun[]; y: number; size: number }[] = [];
  for (const run of [...runs].sort((one, other) => other.y - one.y)) {
    const line = lines.at(-1);
    if (line && line.y - run.y <= MAX_BASELINE_SHIFT * Math.max(line.size, run.size)) {
      line.runs.push(run);
      // The baseline of the largest run, not of a superscript.
      if (run.size > line.size) Object.assign(line, { y: run.y, size: run.size });
    } else lines.push({ runs: [run], y: run.y, size: run.size });
  }
  return lines.map(({ runs: ofLine, y, size }) => ({ segments: toSegments(ofLine, size), y, size }));
}

function toSegments(runs: readonly PdfRun[], size: number): Segment[] {
  const segments: Segment[] = [];
  for (const run of [...runs].sort((one, other) => one.x - other.x)) {
    const last = segments.at(-1);
    const right = run.x + run.width;
    if (last && run.x - last.right <= MIN_CELL_GAP * size) {
      last.runs.push(run);
      last.right = Math.max(last.right, right);
    } else segments.push({ runs: [run], left: run.x, right });
  }
  return segments;
}

/** Puts the lines of a left column of prose before those of the column on its right. */
function orderColumns(lines: readonly SegmentLine[], depth: number): SegmentLine[] {
  const gap = depth < MAX_COLUMN_DEPTH ? findColumnGap(lines) : undefined;
  if (gap === undefined) return [...lines];
  const ordered: SegmentLine[] = [];
  let left: SegmentLine[] = [];
  let right: SegmentLine[] = [];
  const flush = () => {
    ordered.push(...orderColumns(left, depth + 1), ...orderColumns(right, depth + 1));
    [left, right] = [[], []];
  };
  for (const line of lines) {
    if (line.segments.some((segment) => crosses(segment, gap))) {
      flush();
      ordered.push(line);
      continue;
    }
    const [before, after] = [isLeftOf, isRightOf].map((isOn) => line.segments.filter((each) => isOn(each, gap)));
    if (before && before.length > 0) left.push({ ...line, segments: before });
    if (after && after.length > 0) right.push({ ...line, segments: after });
  }
  flush();
  return ordered;
}

/** Returns where a column of prose begins to the right of another one. */
function findColumnGap(lines: readonly SegmentLine[]): number | undefined {
  const segments = lines.flatMap((line) => line.segments);
  const starts = new Set(segments.map(({ left }) => Math.round(left)));
  let best: { gap: number; lines: number } | undefined;
  for (const gap of starts) {
    const left = segments.filter((each) => isLeftOf(each, gap));
    const right = segments.filter((each) => isRightOf(each, gap));
    const crossing = segments.length - left.length - right.length;
    const fewest = Math.min(left.length, right.length);
    if (fewest < MIN_COLUMN_LINES || crossing > MAX_CROSSING_SHARE * segments.length) continue;
    if (Math.min(averageLength(left), averageLength(right)) < MIN_COLUMN_CHARACTERS) continue;
    if (best === undefined || fewest > best.lines) best = { gap, lines: fewest };
  }
  return best?.gap;
}

const isLeftOf = ({ right }: Segment, gap: number) => right <= gap;
const isRightOf = ({ left }: Segment, gap: number) => left >= gap - 1;
const crosses = (segment: Segment, gap: number) => !isLeftOf(segment, gap) && !isRightOf(segment, gap);

function averageLength(segments: readonly Segment[]): number {
  const characters = segments.flatMap(({ runs }) => runs).reduce((sum, { text }) => sum + text.length, 0);
  return characters / Math.max(segments.length, 1);
}

function formatLine({ segments, y, size }: SegmentLine): PdfLine {
  const all = segments.flatMap(({ runs }) => runs.map(({ text }) => text)).join("");
  const isRightToLeft = count(all, RIGHT_TO_LEFT_LETTERS) > count(all, LEFT_TO_RIGHT_LETTERS);
  const ordered = isRightToLeft ? segments.toReversed() : segments;
  const cells = ordered
    .map(({ runs }) => joinRuns(isRightToLeft ? toLogicalOrder(runs) : runs, size))
    .map((text) => text.replace(PRESENTATION_FORMS, (forms) => forms.normalize("NFKC")))
    .map((text) => toOneLine(joinSpacedLetters(text).replace(DOT_LEADER, "; ")))
    .filter((text) => text !== "");
  return { text: cells.join("; "), size, y, isRow: cells.length > 1 };
}

function count(text: string, letters: RegExp): number {
  return text.match(letters)?.length ?? 0;
}

/** Orders the runs of a line from right to left, but numbers and words of other scripts among them from left to right. */
function toLogicalOrder(runs: readonly PdfRun[]): PdfRun[] {
  const ordered: PdfRun[] = [];
  let others: PdfRun[] = [];
  for (const run of runs.toReversed()) {
    if (RIGHT_TO_LEFT.test(run.text)) {
      ordered.push(...others, run);
      others = [];
    } else others.unshift(run);
  }
  return [...ordered, ...others];
}

function joinRuns(runs: readonly PdfRun[], size: number): string {
  // The parser divides spaced letters into a run for each word.
  const isSpaced = runs.some(({ text }) => SPACED_LETTERS.test(text) && countLetters(text) >= MIN_SPACED_LETTERS);
  let text = "";
  let last: PdfRun | undefined;
  for (const run of runs) {
    if (last) {
      const gap = Math.max(run.x - (last.x + last.width), last.x - (run.x + run.width));
      if (gap >= MIN_WIDE_SPACE * size) text += "  ";
      else if (gap >= MIN_SPACE * size) text += " ";
    }
    text += isSpaced && SPACED_LETTERS.test(run.text) ? run.text.replace(/\s/g, "") : run.text;
    last = run;
  }
  return text;
}

/** Joins letters that are only spaced to look wide, and drawn one by one. Several spaces separate words. */
function joinSpacedLetters(text: string): string {
  const words = text.trim().split(/\s{2,}/);
  if (countLetters(text) < MIN_SPACED_LETTERS || !words.every((word) => SPACED_LETTERS.test(word))) return text;
  return words.map((word) => word.replace(/\s/g, "")).join(" ");
}

function countLetters(text: string): number {
  return text.match(/\p{L}/gu)?.length ?? 0;
}
