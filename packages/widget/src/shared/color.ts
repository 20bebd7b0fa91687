/** Red, green and blue, 0 to 255. */
export type Rgb = readonly [number, number, number];

/** What text on a colour may be, in the order of preference at equal contrast. */
const INKS = ["#ffffff", "#000000"];

/** Parses `#RRGGBB`; anything else is a calm blue, so that a bad colour never leaves the widget unreadable. */
export function parseColor(hex: string): Rgb {
  const value = Number.parseInt(/^#([\da-f]{6})$/i.exec(hex)?.[1] ?? "2f5fd0", 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

function luminance(color: Rgb): number {
  const [red, green, blue] = color.map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as unknown as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast ratio of WCAG 2.2, 1 to 21. */
export function contrast(first: Rgb, second: Rgb): number {
  const one = luminance(first);
  const other = luminance(second);
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

/** Black or white, whichever stands out more on the colour: one of the two always reaches 4.58:1. */
export function inkOn(color: Rgb): string {
  const [white, black] = INKS.map((ink) => contrast(color, parseColor(ink))) as [number, number];
  return INKS[white >= black ? 0 : 1] as string;
}

/**
 * The colour itself, or as little nearer to the target, 0 for black or 255 for white, as makes it at least 4.5:1 on every
 * one of the surfaces.
 */
export function accentOn(color: Rgb, surfaces: readonly Rgb[], target: 0 | 255): Rgb {
  for (let share = 0; ; share += 0.04) {
    const mixed = color.map((channel) =>
      Math.round(channel + (target - channel) * Math.min(share, 1)),
    ) as unknown as Rgb;
    if (share >= 1 || surfaces.every((surface) => contrast(mixed, surface) >= 4.5)) {
      return mixed;
    }
  }
}

/** Writes a colour as `#rrggbb`. */
export function toHex([red, green, blue]: Rgb): string {
  return `#${((1 << 24) | (red << 16) | (green << 8) | blue).toString(16).slice(1)}`;
}
