import { expect } from "vitest";
import { contrastRatio, type Rgb } from "../../packages/widget/src/shared/color.ts";
import { eventually } from "./fixture.ts";
import type { WidgetPage } from "./widget-page.ts";

/** Checks in both themes that each kind of text has enough contrast, and that axe finds no violation. Requires a bot with the theme mode `system`. */
export async function expectReadableText(widget: WidgetPage): Promise<void> {
  await widget.askAndWait("markdown");
  for (const colorScheme of ["light", "dark"] as const) {
    await widget.page.emulateMedia({ colorScheme });
    await eventually(() => widget.host.locator(".root").getAttribute("data-theme")).toBe(colorScheme);
    await widget.waitForAnimations();
    const pairs = await widget.host.evaluate((host) => {
      const rgb = (text: string) => (text.match(/[\d.]+/g) ?? []).map(Number);
      // A translucent colour has four components. The text is then on the colour of the nearest opaque ancestor.
      const backdrop = (element: Element): number[] => {
        const color = rgb(getComputedStyle(element).backgroundColor);
        return color.length === 4 && element.parentElement ? backdrop(element.parentElement) : color;
      };
      return [
        ".launcher",
        ".avatar",
        ".user .bubble",
        ".assistant .bubble",
        ".bubble a",
        ".bubble code",
        "h2",
        ".icon",
      ].map((part) => {
        const element = host.shadowRoot?.querySelector(part) as Element;
        return { part, text: rgb(getComputedStyle(element).color), background: backdrop(element) };
      });
    });
    for (const { part, text, background } of pairs) {
      expect(
        contrastRatio(text as unknown as Rgb, background as unknown as Rgb),
        `${part} ${colorScheme}`,
      ).toBeGreaterThanOrEqual(4.5);
    }
    expect(await widget.findAxeViolations()).toEqual([]);
  }
}
