import type { Prometheus } from "../../support/prometheus.ts";
import { type Dashboard, filledIn, type Panel } from "../sources.ts";
import { type Box, chart, type Line, type Span } from "./chart.ts";
import { stat } from "./stat.ts";
import { FAINT, text } from "./svg.ts";

/** Grafana's grid, in pixels: 24 columns, and rows of which a chart takes eight. */
const COLUMN = 62;
const ROW = 32;
const MARGIN = 12;
const GAP = 6;
const HEADER = 46;
const ROW_TITLE_SIZE = 14;
const FONT = "Inter, 'Noto Sans', 'DejaVu Sans', Arial, sans-serif";

/** A dashboard as Grafana would show it for this span of time, as an SVG. */
export async function drawDashboard(
  prometheus: Prometheus,
  dashboard: Dashboard,
  span: Span,
  window: string,
): Promise<string> {
  const bottom = Math.max(...dashboard.panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  const width = 24 * COLUMN + 2 * MARGIN;
  const height = bottom * ROW + HEADER + MARGIN;
  const panels = await Promise.all(
    dashboard.panels.map(async (panel) => {
      const { gridPos } = panel;
      const box = {
        x: MARGIN + gridPos.x * COLUMN + GAP / 2,
        y: HEADER + gridPos.y * ROW + GAP / 2,
        w: gridPos.w * COLUMN - GAP,
        h: gridPos.h * ROW - GAP,
      };
      if (panel.type === "row") return text(box.x + 4, box.y + 19, panel.title, { size: ROW_TITLE_SIZE, weight: 600 });
      return drawPanel(box, panel, await linesOf(prometheus, panel, span, window), span);
    }),
  );
  const minutes = Math.round((span.to - span.from) / 60);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${FONT}">`,
    `<title>The dashboard ${dashboard.title}</title>`,
    `<rect width="${width}" height="${height}" fill="#f4f5f7"/>`,
    text(MARGIN + 6, 30, dashboard.title, { size: 19, weight: 600 }),
    text(width - MARGIN - 6, 30, `${minutes} minutes`, { size: 13, color: FAINT, anchor: "end" }),
    ...panels,
    "</svg>\n",
  ].join("\n");
}

function drawPanel(box: Box, panel: Panel, lines: readonly Line[], span: Span): string {
  const frame = `<rect x="${box.x}" y="${box.y}" width="${box.w}" height="${box.h}" rx="3" fill="#fff" stroke="#dcdfe4"/>`;
  const title = text(box.x + 12, box.y + 21, panel.title, { size: 13, weight: 600 });
  const content = panel.type === "stat" ? stat(box, panel, lines, span) : chart(box, panel, lines, span);
  return `<g>${frame}${title}${content}</g>`;
}

async function linesOf(prometheus: Prometheus, panel: Panel, span: Span, window: string): Promise<Line[]> {
  const { from, to, step } = span;
  const answers = panel.targets.map(async ({ expr, legendFormat }) => {
    const series = await prometheus.queryRange(filledIn(expr, window), from, to, step);
    return series.map(({ labels, points }) => ({ name: legend(legendFormat, labels), points }));
  });
  const lines = (await Promise.all(answers)).flat();
  return lines.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function legend(format: string, labels: Record<string, string>): string {
  return format.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? "").trim();
}
