import { expect, it } from "vitest";
import { describeInBrowser, eventually, type Visit } from "./fixture.ts";
import { STATES } from "./widget-states.ts";

const MOBILE: Visit = { context: { viewport: { width: 320, height: 640 } } };

const DEFAULT_MEDIA = { colorScheme: "light", reducedMotion: "no-preference", forcedColors: "none" } as const;

/** System settings that a visitor may have. An open widget adapts when they change. */
const SYSTEM_SETTINGS = {
  light: {},
  dark: { colorScheme: "dark" },
  "with reduced motion": { reducedMotion: "reduce" },
  "with forced colors": { forcedColors: "active" },
} as const;

describeInBrowser("accessibility", (fixture) => {
  const { light, dark } = SYSTEM_SETTINGS;
  for (const [size, visit, settingsByName] of [
    ["on a wide screen", {}, SYSTEM_SETTINGS],
    ["at 320 px", MOBILE, { light, dark }],
  ] as const) {
    const [states, names] = [STATES, settingsByName].map((all) => Object.keys(all).join(", "));
    it(`has no axe violation ${size} when ${states} (${names})`, async () => {
      const widget = await fixture.visit({ ...visit, attributes: { "data-theme": "system" } });
      for (const [state, reach] of Object.entries(STATES)) {
        await widget.page.emulateMedia(DEFAULT_MEDIA);
        await reach(widget);
        for (const [name, media] of Object.entries(settingsByName)) {
          const emulatedMedia = { ...DEFAULT_MEDIA, ...media };
          await widget.page.emulateMedia(emulatedMedia);
          // Only an open panel has a theme.
          if ((await widget.panel.count()) > 0) {
            await eventually(() => widget.host.locator(".root").getAttribute("data-theme")).toBe(
              emulatedMedia.colorScheme,
            );
          }
          expect(await widget.findAxeViolations(), `${state}, ${name}`).toEqual([]);
        }
      }
      expect(widget.problems).toEqual([]);
    }, 120_000);
  }
});
