import type { Phase } from "./turn-times.ts";

const NAME_WIDTH = 12;
const TIME_WIDTH = 14;
const MIN_BAR_WIDTH = 20;
const MAX_BAR_WIDTH = 100;

/** Draws one line per phase: its name, a bar to scale and its duration. */
export function drawWaterfall(phases: readonly Phase[], columns: number): string {
  const width = Math.min(MAX_BAR_WIDTH, Math.max(MIN_BAR_WIDTH, columns - NAME_WIDTH - TIME_WIDTH));
  const totalMs = Math.max(
    phases.reduce((sum, { ms }) => sum + ms, 0),
    // Avoids a division by zero.
    Number.MIN_VALUE,
  );
  let startMs = 0;
  return phases
    .map(({ name, ms }) => {
      const startCell = Math.min(width - 1, Math.floor((startMs / totalMs) * width));
      startMs += ms;
      const cells = Math.round((startMs / totalMs) * width) - startCell;
      return formatPhaseLine(name, (" ".repeat(startCell) + (cells < 1 ? "▏" : "█".repeat(cells))).padEnd(width), ms);
    })
    .join("");
}

/** Formats a line that is shown below the waterfall: a duration with its name and a note. */
export function formatTimeLine(name: string, ms: number | undefined, note = ""): string {
  return `${name.padEnd(NAME_WIDTH)}${ms === undefined ? "–" : formatMs(ms)}${note && `  ${note}`}\n`;
}

function formatPhaseLine(name: string, bar: string, ms: number): string {
  return `${name.padEnd(NAME_WIDTH)}${bar}${formatMs(ms).padStart(TIME_WIDTH)}\n`;
}

export function formatMs(ms: number): string {
  return `${ms.toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} ms`;
}
