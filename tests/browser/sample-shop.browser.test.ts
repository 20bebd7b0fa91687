import { type SampleShop, startSampleShop } from "@parley/sample-shop";
import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import { WidgetPage } from "./widget-page.ts";

describeInBrowser("sample shop", (fixture) => {
  const withShop = async (test: (shop: SampleShop, widget: WidgetPage) => Promise<void>) => {
    const { url, bot } = fixture.service;
    const shop = await startSampleShop({ port: 0, host: "localhost", edgeUrl: url, publicKey: bot.publicKey });
    const page = await (await fixture.newContext()).newPage();
    try {
      await test(shop, new WidgetPage(page, url));
    } finally {
      await shop.close();
    }
  };

  it("sends a shop button's message and keeps it on the next page, without a violation of the shop's Content Security Policy", () =>
    withShop(async ({ url }, widget) => {
      await widget.page.goto(url);
      await widget.launcher.waitFor();
      expect(await widget.findAxeViolations()).toEqual([]);
      await widget.page.getByRole("button", { name: "Ask about it" }).first().click();
      await eventually(() => widget.texts()).toContain("Tell me about the stoneware mug.");
      await widget.ratingControls.waitFor();
      await widget.page.getByRole("link", { name: "Delivery and returns" }).click();
      await widget.page.waitForURL(/\/delivery/);
      // Before the widget has started, a click does nothing.
      await widget.launcher.waitFor();
      await widget.page.getByRole("button", { name: "Ask something else" }).click();
      await eventually(() => widget.texts()).toHaveLength(2);
      expect(widget.problems).toEqual([]);
    }));

  it("switches theme, position, language and direction", () =>
    withShop(async ({ url }, widget) => {
      const { page } = widget;
      await page.goto(url);
      await page.getByLabel("Theme").selectOption("dark");
      await page.getByLabel("Position").selectOption("bottom-left");
      await page.getByLabel("Language").selectOption("ar");
      await page.getByLabel("Page direction").selectOption("rtl");
      await page.getByRole("button", { name: "Show" }).click();
      await page.waitForURL(/lang=ar/);
      await widget.open();
      expect((await widget.panel.boundingBox())?.x).toBe(20);
      const { direction, backgroundColor } = await widget.panel.evaluate((panel) => getComputedStyle(panel));
      expect([direction, backgroundColor]).toEqual(["rtl", "rgb(22, 24, 29)"]);
      expect(await widget.findAxeViolations()).toEqual([]);
      await page.getByRole("link", { name: "Delivery and returns" }).click();
      expect(await page.getByLabel("Language").inputValue()).toBe("ar");
    }));
});
