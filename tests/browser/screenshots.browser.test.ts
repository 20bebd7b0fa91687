import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { describeInBrowser, type Visit } from "./stage.ts";

const LOOKS: Readonly<Record<string, Visit>> = {
  light: {},
  dark: { attributes: { "data-theme": "dark" } },
  mobile: { context: { viewport: { width: 320, height: 640 }, deviceScaleFactor: 2 } },
  rtl: { htmlAttributes: 'lang="ar" dir="rtl"', attributes: { "data-position": "bottom-left" } },
  "forced-colors": { context: { forcedColors: "active", colorScheme: "dark" } },
};

describeInBrowser("the look", (stage) => {
  it.each(Object.entries(LOOKS))("is drawn %s, each part inside the window", async (name, visit) => {
    const widget = await stage.visitAndOpen(visit);
    await widget.askAndWait("markdown");
    await widget.page.mouse.move(0, 0);
    const { width, height } = widget.page.viewportSize() ?? { width: 0, height: 0 };
    for (const part of [widget.panel, widget.input, widget.button, widget.log]) {
      const box = await part.boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect(box?.y).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(height);
    }
    const folder = process.env.PARLEY_SCREENSHOTS;
    if (folder) {
      await mkdir(folder, { recursive: true });
      await widget.page.screenshot({ path: join(folder, `widget-${name}.png`) });
    }
  });
});
