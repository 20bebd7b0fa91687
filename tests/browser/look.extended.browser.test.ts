import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { describeInFullBrowser, type Visit } from "./fixture.ts";
import { addHandoffBot, agentOf, askButton, tell } from "./handoff-agent.ts";
import { FakeHistory, HistoryView } from "./history-page.ts";
import { expectScreenshot } from "./screenshots.ts";
import type { WidgetPage } from "./widget-page.ts";

/** Fonts from npm packages, so that the screenshots do not depend on the machine's fonts. */
const FONTS = {
  "U+0000-05FF, U+2000-2FFF": "@fontsource-variable/noto-sans/files/noto-sans-latin-wght-normal.woff2",
  "U+0600-06FF": "@fontsource-variable/noto-sans-arabic/files/noto-sans-arabic-arabic-wght-normal.woff2",
};

async function fontFaces(): Promise<string> {
  const faces = Object.entries(FONTS).map(async ([range, file]) => {
    const bytes = await readFile(fileURLToPath(import.meta.resolve(file)));
    return `@font-face { font-family: TestFont; font-weight: 100 900; unicode-range: ${range};
      src: url(data:font/woff2;base64,${bytes.toString("base64")}) }`;
  });
  return `<style>${(await Promise.all(faces)).join("\n")}</style>`;
}

const WINDOW = { viewport: { width: 500, height: 720 } };

interface Look extends Visit {
  readonly message?: string;
}

const LOOKS: Readonly<Record<string, Look>> = {
  light: {},
  dark: { attributes: { "data-theme": "dark" } },
  mobile: { context: { viewport: { width: 320, height: 640 }, deviceScaleFactor: 2 } },
  rtl: { htmlAttributes: 'lang="ar" dir="rtl"', attributes: { "data-position": "bottom-left" }, message: "عربي" },
  "forced-colors": { context: { ...WINDOW, forcedColors: "active", colorScheme: "dark" } },
};

const CONVERSATION_LOOKS: readonly [name: string, look: Look][] = [
  ["light", {}],
  ["dark", { attributes: { "data-theme": "dark" } }],
  ["mobile", { context: { viewport: { width: 375, height: 640 } } }],
  ["rtl", LOOKS.rtl as Look],
];

describeInFullBrowser("screenshots", (fixture) => {
  const open = async (visit: Visit): Promise<WidgetPage> => {
    const { publicKey } = await fixture.service.addBot({ font_family: "TestFont" });
    return fixture.visitAndOpen({ context: WINDOW, head: await fontFaces(), body: " ", publicKey, ...visit });
  };
  const openAndAsk = async ({ message = "markdown", ...visit }: Look): Promise<WidgetPage> => {
    const widget = await open(visit);
    await widget.askAndWait(message);
    return widget;
  };
  /** Takes a screenshot without hover, caret and animations. */
  const takeScreenshot = async (widget: WidgetPage) => {
    const { page } = widget;
    await page.mouse.move(0, 0);
    await widget.host.evaluate((host) => (host.shadowRoot?.activeElement as HTMLElement | null)?.blur());
    await page.evaluate(() => document.fonts.ready);
    await widget.waitForAnimations();
    return page.screenshot({ animations: "disabled" });
  };

  it.each(Object.entries(LOOKS))("matches the screenshot %s, and the panel is in the window", async (name, look) => {
    const widget = await openAndAsk(look);
    await expectScreenshot(name, await takeScreenshot(widget));
    const { width, height } = widget.page.viewportSize() ?? { width: 0, height: 0 };
    for (const part of [widget.panel, widget.input, widget.sendButton, widget.log]) {
      const box = await part.boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect(box?.y).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(height);
    }
  });

  it.each(CONVERSATION_LOOKS)("matches the screenshots %s of past conversations", async (name, look) => {
    const widget = await open({ ...look, prepare: new FakeHistory().prepare });
    const view = new HistoryView(widget);
    await view.identify();
    await view.opener.click();
    await view.conversations.nth(19).waitFor();
    expect(await widget.findAxeViolations()).toEqual([]);
    await expectScreenshot(`history-${name}`, await takeScreenshot(widget));
    await view.conversations.first().click();
    await view.messages.nth(49).waitFor();
    expect(await widget.findAxeViolations()).toEqual([]);
    await expectScreenshot(`history-conversation-${name}`, await takeScreenshot(widget));
  });

  it.each(CONVERSATION_LOOKS)(
    "matches the screenshots %s of a visitor who waits for a person, and has one",
    async (name, look) => {
      const publicKey = await addHandoffBot(fixture, {}, { font_family: "TestFont" });
      const widget = await openAndAsk({ message: "quick question", ...look, publicKey });
      const agent = agentOf(fixture, widget);
      await askButton(widget).click();
      await askButton(widget).waitFor({ state: "hidden" });
      expect(await widget.findAxeViolations()).toEqual([]);
      if (name === "light") await expectScreenshot("handoff-waiting", await takeScreenshot(widget));
      await tell(widget, "My parcel is late.");
      await agent.take();
      await agent.answer("Hello, I am **Anna**. Which parcel?");
      await widget.messages.nth(3).waitFor();
      expect(await widget.findAxeViolations()).toEqual([]);
      await expectScreenshot(`handoff-${name}`, await takeScreenshot(widget));
      await agent.resolve();
      await askButton(widget).waitFor();
      if (name === "light") await expectScreenshot("handoff-ended", await takeScreenshot(widget));
    },
  );

  it("matches the screenshot when the panel is closed and a reply is unread", async () => {
    const widget = await open({ context: { viewport: { width: 120, height: 120 } } });
    await widget.ask("slow 50");
    await widget.page.evaluate(() => window.Parley?.close());
    await widget.launcher.locator(".badge").waitFor();
    await expectScreenshot("closed", await takeScreenshot(widget));
  });
});
