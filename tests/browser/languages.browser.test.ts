import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { launcherWords } from "../../packages/widget/src/launcher/words.ts";
import type { Words } from "../../packages/widget/src/panel/words.ts";
import { describeInBrowser } from "./stage.ts";

const FOLDER = join(import.meta.dirname, "../../packages/widget/src/lang");
const LANGUAGES = readdirSync(FOLDER).map((file) => file.replace(".json", ""));
const wordsOf = (lang: string) => JSON.parse(readFileSync(join(FOLDER, `${lang}.json`), "utf8")) as Words;

describeInBrowser("languages", (stage) => {
  it.each(LANGUAGES)("speaks %s where the page does, and fetches its words alone", async (lang) => {
    const words = wordsOf(lang);
    const widget = await stage.visitAndOpen({ htmlAttributes: `lang="${lang}-XX"` });
    expect(await widget.input.getAttribute("placeholder")).toBe(words.placeholder);
    expect(await widget.panel.getByRole("button", { name: words.close }).isVisible()).toBe(true);
    expect(await widget.launcher.getAttribute("aria-label")).toBe(`${launcherWords(lang)[0]}: Sample Shop`);
    const fetched = widget.paths().filter((path) => path.endsWith(".json"));
    expect(fetched).toEqual([expect.stringMatching(new RegExp(`^/widget/${lang}\\.[\\da-f]{10}\\.json$`))]);
    const rightToLeft = ["ar", "he"].includes(lang);
    expect(await widget.panel.evaluate((panel) => getComputedStyle(panel).direction)).toBe(rightToLeft ? "rtl" : "ltr");
    const close = (await widget.panel.getByRole("button", { name: words.close }).boundingBox())?.x ?? 0;
    const heading = (await widget.panel.getByRole("heading").boundingBox())?.x ?? 0;
    expect(close < heading).toBe(rightToLeft);
    expect(await widget.violations()).toEqual([]);
  });

  it("prefers data-lang to the page's language, and says nothing else", async () => {
    const widget = await stage.visitAndOpen({ htmlAttributes: 'lang="fr"', attributes: { "data-lang": "de" } });
    expect(await widget.input.getAttribute("placeholder")).toBe(wordsOf("de").placeholder);
  });

  it("speaks the browser's language where the page names none", async () => {
    const widget = await stage.visitAndOpen({ htmlAttributes: "", context: { locale: "nl-NL" } });
    expect(await widget.input.getAttribute("placeholder")).toBe(wordsOf("nl").placeholder);
  });

  it("speaks English where it does not know the language, from right to left where the page goes so", async () => {
    const widget = await stage.visitAndOpen({ htmlAttributes: 'lang="xx" dir="rtl"' });
    expect(await widget.input.getAttribute("placeholder")).toBe("Write a message…");
    expect(await widget.panel.evaluate((panel) => getComputedStyle(panel).direction)).toBe("rtl");
    expect(widget.paths().filter((path) => path.endsWith(".json"))).toEqual([]);
  });

  it("speaks English when the words cannot be fetched", async () => {
    const widget = await stage.visitAndOpen({
      htmlAttributes: 'lang="de"',
      prepare: (page) => page.route("**/widget/de.*", (route) => route.abort()),
    });
    expect(await widget.input.getAttribute("placeholder")).toBe("Write a message…");
  });

  it("gives each text its own direction", async () => {
    const widget = await stage.visitAndOpen({ htmlAttributes: 'lang="ar" dir="rtl"' });
    await widget.askAndWait("quick in English");
    await widget.askAndWait("quick بالعربية");
    const directions = await widget.log
      .locator(".user .bubble > div")
      .evaluateAll((all) => all.map((it) => getComputedStyle(it).direction));
    expect(directions).toEqual(["ltr", "ltr"]);
    await widget.askAndWait("مرحبا quick");
    expect(
      await widget.log
        .locator(".user .bubble > div")
        .last()
        .evaluate((it) => getComputedStyle(it).direction),
    ).toBe("rtl");
  });
});
