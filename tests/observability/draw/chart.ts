import type { Panel } from "../sources.ts";
import { COLORS, FAINT, GRID, n, path, THRESHOLD_COLORS, text, textWidth } from "./svg.ts";
import { formatted, ticks } from "./units.ts";

export type Line = { name: string; points: readonly (readonly [seconds: number, value: number])[] };
export type Box = { x: number; y: number; w: number; h: number };
/** Seconds since 1970. */
export type Span = { from: number; to: number; step: number };

const TICKS = 4;
const CLOCK_TICKS = 5;
const LEGEND_SIZE = 10.5;
const LEGEND_LINE = 15;
const MAX_LEGEND_LINES = 4;
const AXIS_WIDTH = 62;

/** Lines over time with their axes and legend. */
export function chart({ x, y, w, h }: Box, panel: Panel, lines: readonly Line[], span: Span): string {
  const { unit, max, thresholds } = panel.fieldConfig.defaults;
  const isStacked = panel.fieldConfig.defaults.custom?.stacking.mode === "normal";
  const legend = legendOf(lines, unit, w - 24);
  const plot = { x: x + AXIS_WIDTH, y: y + 34, w: w - AXIS_WIDTH - 14, h: h - 34 - 24 - legend.height };
  const times = Array.from(
    { length: Math.round((span.to - span.from) / span.step) + 1 },
    (_, i) => span.from + i * span.step,
  );
  const series = lines.map((line) => valuesAt(line, times));
  const tops = isStacked ? stacked(series) : series;
  const highest = Math.max(0, ...tops.flat().filter((value) => value !== undefined));
  const scale = ticks(max ?? (highest === 0 ? 1 : highest * 1.05), TICKS, unit);
  const top = scale.at(-1) ?? 1;
  const px = (seconds: number) => plot.x + ((seconds - span.from) / (span.to - span.from)) * plot.w;
  const py = (value: number) => plot.y + plot.h - (Math.min(value, top) / top) * plot.h;

  const grid = scale.map(
    (value) =>
      `<path d="M${n(plot.x)} ${n(py(value))}h${n(plot.w)}" stroke="${GRID}"/>${text(plot.x - 6, py(value) + 4, formatted(value, unit), { size: 10.5, color: FAINT, anchor: "end" })}`,
  );
  const clock = ticks(span.to - span.from, CLOCK_TICKS, "s").flatMap((seconds) => {
    if (seconds > span.to - span.from) return [];
    const at = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    return text(px(span.from + seconds), plot.y + plot.h + 15, at, { size: 10.5, color: FAINT, anchor: "middle" });
  });
  const limits = thresholds.steps.flatMap(({ value, color }) =>
    value === null || value > top
      ? []
      : [
          `<path d="M${n(plot.x)} ${n(py(value))}h${n(plot.w)}" stroke="${THRESHOLD_COLORS[color]}" stroke-dasharray="5 4"/>`,
        ],
  );
  const drawn = tops.map((values, index) => {
    const color = COLORS[index % COLORS.length];
    const points = values.map((value, at) =>
      value === undefined ? undefined : ([px(times[at] ?? 0), py(value)] as const),
    );
    const line = `<path d="${path(points)}" fill="none" stroke="${color}" stroke-width="1.4" stroke-linejoin="round"/>`;
    if (!isStacked) return line;
    const below = index === 0 ? values.map(() => 0) : (tops[index - 1] ?? []);
    const back = below.map((value, at) => [px(times[at] ?? 0), py(value ?? 0)] as const).reverse();
    const area = [...points.map((point, at) => point ?? ([px(times[at] ?? 0), py(0)] as const)), ...back];
    return `<path d="${path(area)}Z" fill="${color}" fill-opacity="0.35"/>${line}`;
  });
  return [...grid, ...clock, ...drawn, ...limits, legend.draw(x + 12, y + h - legend.height + 2)].join("");
}

/** A line's values at these times; undefined where it has none. */
function valuesAt({ points }: Line, times: readonly number[]): (number | undefined)[] {
  const at = new Map(points.map(([seconds, value]) => [Math.round(seconds * 1_000), value]));
  return times.map((time) => {
    const value = at.get(Math.round(time * 1_000));
    return value === undefined || Number.isNaN(value) ? undefined : value;
  });
}

function stacked(series: readonly (number | undefined)[][]): (number | undefined)[][] {
  let below: number[] = [];
  return series.map((values) => {
    below = values.map((value, at) => (below[at] ?? 0) + (value ?? 0));
    return below;
  });
}

function legendOf(lines: readonly Line[], unit: string, width: number) {
  const entries = lines.map((line, index) => {
    const last = line.points.findLast(([, value]) => !Number.isNaN(value))?.[1];
    const label = last === undefined ? line.name : `${line.name}: ${formatted(last, unit)}`;
    return { label, color: COLORS[index % COLORS.length], width: textWidth(label, LEGEND_SIZE) + 26 };
  });
  const rows: (typeof entries)[] = [[]];
  let used = 0;
  for (const entry of entries) {
    if (used > 0 && used + entry.width > width) {
      rows.push([]);
      used = 0;
    }
    rows.at(-1)?.push(entry);
    used += entry.width;
  }
  const hidden = rows.slice(MAX_LEGEND_LINES).flat().length;
  const shown = rows.slice(0, MAX_LEGEND_LINES);
  return {
    height: shown.length * LEGEND_LINE + 8,
    draw(x: number, y: number): string {
      const drawn = shown.map((row, line) => {
        let at = x;
        return row.map(({ label, color, width: entryWidth }) => {
          const here = at;
          at += entryWidth;
          const base = y + 10 + line * LEGEND_LINE;
          return `<path d="M${n(here)} ${n(base - 4)}h12" stroke="${color}" stroke-width="3"/>${text(here + 17, base, label, { size: LEGEND_SIZE })}`;
        });
      });
      const more =
        hidden > 0
          ? [
              text(x + width, y + 10 + (shown.length - 1) * LEGEND_LINE, `and ${hidden} more`, {
                size: LEGEND_SIZE,
                color: FAINT,
                anchor: "end",
              }),
            ]
          : [];
      return [...drawn.flat(), ...more].join("");
    },
  };
}
