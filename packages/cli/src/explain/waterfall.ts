import type { Slice } from "./times.ts";

const NAME_WIDTH = 12;
const TIME_WIDTH = 14;
const MIN_BAR_WIDTH = 20;
const MAX_BAR_WIDTH = 100;

/** One line a phase: its name, a bar to scale where it lies in the whole, and its time. */
export function waterfall(phases: readonly Slice[], columns: number): string {
  const width = Math.min(MAX_BAR_WIDTH, Math.max(MIN_BAR_WIDTH, columns - NAME_WIDTH - TIME_WIDTH));
  const whole = Math.max(
    phases.reduce((sum, { ms }) => sum + ms, 0),
    Number.MIN_VALUE,
  );
  let startMs = 0;
  return phases
    .map(({ name, ms }) => {
      const from = Math.min(width - 1, Math.floor((startMs / whole) * width));
      startMs += ms;
      const cells = Math.round((startMs / whole) * width) - from;
      return line(name, (" ".repeat(from) + (cells < 1 ? "▏" : "█".repeat(cells))).padEnd(width), ms);
    })
    .join("");
}

/** A line under the waterfall. */
export function timeLine(name: string, ms: number | undefined, note = ""): string {
  return `${name.padEnd(NAME_WIDTH)}${ms === undefined ? "–" : formatMs(ms)}${note && `  ${note}`}\n`;
}

function line(name: string, bar: string, ms: number): string {
  return `${name.padEnd(NAME_WIDTH)}${bar}${formatMs(ms).padStart(TIME_WIDTH)}\n`;
}

export function formatMs(ms: number): string {
  return `${ms.toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} ms`;
}
