import { describe, expect, it } from "vitest";
import { contrastRatio, ensureContrast, parseColor, type Rgb, textColorOn } from "./color.ts";

const STEPS = [0, 32, 64, 96, 128, 160, 192, 224, 255];
const COLORS: readonly Rgb[] = STEPS.flatMap((red) =>
  STEPS.flatMap((green) => STEPS.map((blue): Rgb => [red, green, blue])),
);

describe("contrastRatio", () => {
  it("returns the ratio of WCAG 2.2", () => {
    expect(contrastRatio([255, 255, 255], [0, 0, 0])).toBe(21);
    expect(contrastRatio(parseColor("#777777"), [255, 255, 255])).toBeCloseTo(4.48, 2);
    expect(contrastRatio(parseColor("#0000ff"), parseColor("#ffff00"))).toBeCloseTo(8, 1);
  });
});

describe("textColorOn", () => {
  it("returns a text colour with a contrast of at least 4.5:1 on any background", () => {
    for (const color of COLORS) {
      expect(contrastRatio(color, parseColor(textColorOn(color)))).toBeGreaterThanOrEqual(4.5);
    }
  });
});

describe("ensureContrast", () => {
  it.each([
    ["light", ["#ffffff", "#f1f3f6"], 0],
    ["dark", ["#16181d", "#242830"], 255],
  ] as const)(
    "returns a colour with a contrast of at least 4.5:1 on the %s theme, for any colour",
    (_, hexes, target) => {
      const backgrounds = hexes.map(parseColor);
      for (const color of COLORS) {
        const accent = ensureContrast(color, backgrounds, target);
        expect(Math.min(...backgrounds.map((each) => contrastRatio(accent, each)))).toBeGreaterThanOrEqual(4.5);
      }
    },
  );

  it("returns a colour unchanged if its contrast is enough", () => {
    expect(ensureContrast([47, 95, 208], [[255, 255, 255]], 0)).toEqual([47, 95, 208]);
  });

  it("darkens an orange to a colour with more red than green and more green than blue", () => {
    const [red, green, blue] = ensureContrast([255, 200, 0], [[255, 255, 255]], 0);
    expect(red).toBeGreaterThan(green);
    expect(green).toBeGreaterThan(blue);
  });
});

describe("parseColor", () => {
  it("reads upper and lower case, and returns the default colour for any other text", () => {
    expect(parseColor("#FFcc00")).toEqual([255, 204, 0]);
    expect(parseColor("red")).toEqual(parseColor("#2f5fd0"));
    expect(parseColor("")).toEqual(parseColor("#2f5fd0"));
  });

  it("reads red, green and blue in this order", () => {
    expect(parseColor("#0a0b0c")).toEqual([10, 11, 12]);
  });
});
