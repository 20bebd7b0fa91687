/** Red, green and blue, 0 to 255. */
export type Rgb = readonly [number, number, number];

/** The minimum contrast ratio for text, from WCAG 2.2 AA. */
const MIN_CONTRAST = 4.5;

/** Parses `#RRGGBB`. Returns a readable blue for anything else. */
export function parseColor(hex: string): Rgb {
  const value = Number.parseInt(/^#([\da-f]{6})$/i.exec(hex)?.[1] ?? "2f5fd0", 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** The relative luminance of WCAG 2.2, 0 to 1. */
function relativeLuminance(color: Rgb): number {
  const [red, green, blue] = color.map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as unknown as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Returns the contrast ratio of WCAG 2.2, 1 to 21. */
export function contrastRatio(first: Rgb, second: Rgb): number {
  const [one, other] = [relativeLuminance(first), relativeLuminance(second)];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

/** The luminance x on which white and black text have the same contrast: (1 + 0.05) / (x + 0.05) = (x + 0.05) / 0.05. */
const MIDDLE_LUMINANCE = 0.179129;

/** Returns the text colour for a background: white or black, whichever has more contrast, which is at least 4.58:1. */
export function textColorOn(background: Rgb): string {
  return relativeLuminance(background) > MIDDLE_LUMINANCE ? "#000000" : "#ffffff";
}

/**
 * Mixes the colour with black (`target` 0) or white (255), just enough for a contrast of 4.5:1 on each of `backgrounds`.
 * Returns the target itself if no mixture is enough.
 */
export function ensureContrast(color: Rgb, backgrounds: readonly Rgb[], target: 0 | 255): Rgb {
  for (let share = 0; ; share += 0.04) {
    const mixed = color.map((channel) =>
      Math.round(channel + (target - channel) * Math.min(share, 1)),
    ) as unknown as Rgb;
    if (share >= 1 || backgrounds.every((background) => contrastRatio(mixed, background) >= MIN_CONTRAST)) {
      return mixed;
    }
  }
}
