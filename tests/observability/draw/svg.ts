export const COLORS = [
  ...["#1f78c1", "#37872d", "#e0752d", "#8f3bb8", "#e02f44", "#00869e", "#b5a300", "#6d4c41", "#d44a8c", "#7a7a7a"],
  ...["#70b3e6", "#96d98d", "#ffb357", "#ca95e5", "#ff7383", "#6ed0e0", "#e5d650", "#bcaaa4", "#f2a6c8", "#c0c0c0"],
];
export const INK = "#24292e";
export const FAINT = "#6b7280";
export const GRID = "#e5e7eb";
/** Grafana's names, dark enough for white. */
export const THRESHOLD_COLORS: Readonly<Record<string, string>> = {
  green: "#2e7d32",
  orange: "#c77700",
  red: "#c62828",
};

/** The width of a text of this size, near enough to lay things out by. */
export function textWidth(text: string, size: number): number {
  return text.length * size * 0.55;
}

export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

type TextStyle = { size: number; color?: string; weight?: number; anchor?: "start" | "middle" | "end" };

export function text(
  x: number,
  y: number,
  content: string,
  { size, color = INK, weight = 400, anchor = "start" }: TextStyle,
): string {
  return `<text x="${n(x)}" y="${n(y)}" font-size="${size}" fill="${color}" font-weight="${weight}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

/** A number as short as it need be. */
export function n(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** A path through the points; it begins anew after a gap. */
export function path(points: readonly (readonly [x: number, y: number] | undefined)[]): string {
  let isOpen = false;
  return points
    .map((point) => {
      const command = isOpen ? "L" : "M";
      isOpen = point !== undefined;
      return point === undefined ? "" : `${command}${n(point[0])} ${n(point[1])}`;
    })
    .join("");
}
