import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isFullRun } from "@parley/test-support";
import { expect, it } from "vitest";
import type { Words } from "../../packages/widget/src/panel/words.ts";
import { describeInBrowser } from "./fixture.ts";

const FOLDER = join(import.meta.dirname, "../../packages/widget/src/lang");
const ALL_LANGUAGES = readdirSync(FOLDER).map((file) => file.replace(".json", ""));
const LANGUAGES = isFullRun ? ALL_LANGUAGES : ["ar", "de", "pt-pt", "zh-hant"];
const wordsOf = (lang: string) =>
  JSON.parse(readFileSync(join(FOLDER, `${lang}.json`), "utf8")) as Words & { chat: string };

describeInBrowser("languages", (fixture) => {
  it.each(LANGUAGES)("uses the page's language %s and fetches only that language's words", async (lang) => {
    const words = wordsOf(lang);
    const widget = await fixture.visitAndOpen({ htmlAttributes: `lang="${lang === "pt-pt" ? lang : `${lang}-XX`}"` });
    expect(await widget.input.getAttribute("placeholder")).toBe(words.placeholder);
    expect(await widget.panel.getByRole("button", { name: words.close }).isVisible()).toBe(true);
    expect(await widget.launcher.getAttribute("aria-label")).toBe(`${words.chat}: Sample Shop`);
    const fetched = widget.requestedPaths().filter((path) => path.endsWith(".json"));
    expect(fetched).toEqual([expect.stringMatching(new RegExp(`^/widget/${lang}\\.[\\da-f]{10}\\.json$`))]);
    const isRightToLeft = ["ar", "he"].includes(lang);
    expect(await widget.panel.evaluate((panel) => getComputedStyle(panel).direction)).toBe(
      isRightToLeft ? "rtl" : "ltr",
    );
    expect(await widget.host.locator(".root").getAttribute("lang")).toBe(lang);
    const closeX = (await widget.panel.getByRole("button", { name: words.close }).boundingBox())?.x ?? 0;
    const headingX = (await widget.panel.getByRole("heading").boundingBox())?.x ?? 0;
    expect(closeX < headingX).toBe(isRightToLeft);
    expect(await widget.findAxeViolations()).toEqual([]);
  });

  it("prefers data-lang to the page's language", async () => {
    const widget = await fixture.visitAndOpen({ htmlAttributes: 'lang="fr"', attributes: { "data-lang": "de" } });
    expect(await widget.input.getAttribute("placeholder")).toBe(wordsOf("de").placeholder);
  });

  it("uses the page's language if data-lang is empty", async () => {
    const widget = await fixture.visitAndOpen({ htmlAttributes: 'lang="fr"', attributes: { "data-lang": "" } });
    expect(await widget.input.getAttribute("placeholder")).toBe(wordsOf("fr").placeholder);
  });

  it("uses the browser's language if the page has none", async () => {
    const widget = await fixture.visitAndOpen({ htmlAttributes: "", context: { locale: "nl-NL" } });
    expect(await widget.input.getAttribute("placeholder")).toBe(wordsOf("nl").placeholder);
  });

  it.each([
    ["zh-TW", "zh-hant"],
    ["zh-Hans-TW", "zh"],
    ["iw-IL", "he"],
    ["pt_BR", "pt"],
    ["nn-NO", "nb"],
  ])("for the page's language %s, uses the words of %s", async (tag, lang) => {
    const widget = await fixture.visitAndOpen({ htmlAttributes: `lang="${tag}"` });
    expect(await widget.input.getAttribute("placeholder")).toBe(wordsOf(lang).placeholder);
    expect(await widget.launcher.getAttribute("aria-label")).toBe(`${wordsOf(lang).chat}: Sample Shop`);
  });

  it.each(["fa", "ur", "xx"])("uses English from left to right for %s, a language without texts", async (lang) => {
    const widget = await fixture.visitAndOpen({ htmlAttributes: `lang="${lang}" dir="rtl"` });
    expect(await widget.input.getAttribute("placeholder")).toBe("Write a message…");
    expect(await widget.host.locator(".root").getAttribute("lang")).toBe("en");
    expect(await widget.panel.evaluate((panel) => getComputedStyle(panel).direction)).toBe("ltr");
    expect(widget.requestedPaths().filter((path) => path.endsWith(".json"))).toEqual([]);
  });

  it("uses English if the words cannot be fetched", async () => {
    const widget = await fixture.visitAndOpen({
      htmlAttributes: 'lang="de"',
      prepare: (page) => page.route("**/widget/de.*", (route) => route.abort()),
    });
    expect(await widget.input.getAttribute("placeholder")).toBe("Write a message…");
    expect(await widget.host.locator(".root").getAttribute("lang")).toBe("en");
  });

  it("sets the direction of each message by its first word", async () => {
    const widget = await fixture.visitAndOpen({ htmlAttributes: 'lang="ar" dir="rtl"' });
    await widget.askAndWait("quick in English");
    await widget.askAndWait("quick بالعربية");
    const directions = await widget.log
      .locator(".user .bubble > div")
      .evaluateAll((all) => all.map((element) => getComputedStyle(element).direction));
    expect(directions).toEqual(["ltr", "ltr"]);
    await widget.askAndWait("مرحبا quick");
    expect(
      await widget.log
        .locator(".user .bubble > div")
        .last()
        .evaluate((element) => getComputedStyle(element).direction),
    ).toBe("rtl");
  });
});
