import type { Panel } from "../sources.ts";
import type { Box, Line, Span } from "./chart.ts";
import { FAINT, n, path, THRESHOLD_COLORS, text } from "./svg.ts";
import { formatted } from "./units.ts";

/** The latest value of each line in large figures, coloured by its thresholds, above how it came to be. */
export function stat({ x, y, w, h }: Box, panel: Panel, lines: readonly Line[], span: Span): string {
  const { unit, thresholds } = panel.fieldConfig.defaults;
  const width = (w - 16) / Math.max(1, lines.length);
  return lines
    .map(({ name, points }, index) => {
      const known = points.filter(([, value]) => !Number.isNaN(value));
      const last = known.at(-1)?.[1];
      const step = thresholds.steps.findLast(({ value }) => value === null || (last ?? 0) >= value);
      const color = THRESHOLD_COLORS[step?.color ?? "green"] ?? "";
      const left = x + 8 + index * width;
      const highest = Math.max(...known.map(([, value]) => value), 1e-9);
      const spark = known.map(
        ([seconds, value]) =>
          [
            left + ((seconds - span.from) / (span.to - span.from)) * (width - 8),
            y + h - 8 - (value / highest) * (h * 0.25),
          ] as const,
      );
      const shown = last === undefined ? "–" : formatted(last, unit);
      const figure = text(left + width / 2, y + h * 0.58, shown, {
        size: lines.length > 1 ? 24 : 30,
        weight: 600,
        color,
        anchor: "middle",
      });
      const label =
        lines.length > 1
          ? text(left + width / 2, y + h * 0.58 + 18, name, { size: 11, color: FAINT, anchor: "middle" })
          : "";
      const base = n(y + h - 8);
      const [first, end] = [spark[0], spark.at(-1)];
      const area =
        lines.length > 1 || first === undefined || end === undefined
          ? ""
          : `<path d="${path(spark)}L${n(end[0])} ${base}L${n(first[0])} ${base}Z" fill="${color}" fill-opacity="0.15"/>`;
      return `${area}${figure}${label}`;
    })
    .join("");
}
