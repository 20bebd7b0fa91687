import { expect, it } from "vitest";
import type { BotConfig } from "../../packages/widget/src/shared/types.ts";
import { describeInBrowserBeforeRelease, eventually, type Visit } from "./fixture.ts";
import { expectReadableText } from "./readable-text.ts";

describeInBrowserBeforeRelease("bot configuration", (fixture) => {
  const open = async (changes: Partial<BotConfig>, visit: Visit = {}) =>
    fixture.visitAndOpen({ ...(await fixture.service.addBot(changes)), ...visit });

  it.each(["#ffffff", "#000000", "#ffe100", "#e8590c", "#00aa88", "#2f5fd0", "#ff5c8a"])(
    "keeps text readable with the color %s in both themes",
    async (primary_color) => {
      await expectReadableText(await open({ primary_color, theme_mode: "system" }));
    },
  );

  it("theme_mode makes the panel light or dark, or makes it follow changes of the system theme", async () => {
    const background = async (widget: Awaited<ReturnType<typeof open>>) =>
      widget.panel.evaluate((panel) => getComputedStyle(panel).backgroundColor);
    expect(await background(await open({ theme_mode: "light" }, { context: { colorScheme: "dark" } }))).toBe(
      "rgb(255, 255, 255)",
    );
    expect(await background(await open({ theme_mode: "dark" }))).toBe("rgb(22, 24, 29)");
    const widget = await open({ theme_mode: "system" }, { context: { colorScheme: "dark" } });
    expect(await background(widget)).toBe("rgb(22, 24, 29)");
    await widget.page.emulateMedia({ colorScheme: "light" });
    await eventually(() => background(widget)).toBe("rgb(255, 255, 255)");
  });
});
