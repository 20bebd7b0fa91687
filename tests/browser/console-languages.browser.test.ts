import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import { addBot } from "./console-bot.ts";
import { type ConsolePage, openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("the console's languages", (fixture) => {
  const openGerman = () => openConsole(fixture, { locale: "de-AT" });

  it("uses the browser's language, and after a choice in the user's menu that language, from right to left for Arabic", async () => {
    const { page } = await openGerman();
    await page.signIn("/conversations", "Unterhaltungen");
    await linkTo(page, "Wissen").waitFor();
    expect(await languageOf(page)).toEqual({ lang: "de", dir: "ltr" });
    expect(await isAtLeft(linkTo(page, "Wissen"))).toBe(true);

    await page.tab.getByRole("button", { name: /Demo owner/ }).click();
    expect(await page.tab.getByRole("menuitemradio", { name: "Deutsch" }).getAttribute("aria-checked")).toBe("true");
    await page.tab.getByRole("menuitemradio", { name: "العربية" }).click();
    await eventually(() => languageOf(page)).toEqual({ lang: "ar", dir: "rtl" });
    await page.heading("المحادثات").waitFor();
    expect(await isAtLeft(linkTo(page, "المعرفة"))).toBe(false);
    expect(await page.scrollsSideways()).toBe(false);
    expect(await page.findAxeViolations()).toEqual([]);

    await page.tab.reload();
    await page.heading("المحادثات").waitFor();
    expect(await languageOf(page)).toEqual({ lang: "ar", dir: "rtl" });
    expect(page.problems).toEqual([]);
  });

  it("shows English names and the facts beside them in the right order in Arabic", async () => {
    const bot = await addBot(fixture.service, "Cakes & Co.");
    const { page } = await openConsole(fixture, { locale: "ar" });
    await page.signIn(`/bots/${bot}`, "Cakes & Co.");
    expect(await endsAtRight(page.heading("Cakes & Co."))).toBe(true);
    expect(await endsAtRight(page.tab.locator(".breadcrumb [aria-current]"))).toBe(true);

    await linkTo(page, "المفاتيح").click();
    expect(await endsAtRight(page.tab.locator(".row.key strong", { hasText: "Cakes & Co." }).first())).toBe(true);
    await linkTo(page, "الروبوتات").click();
    expect(await endsAtRight(page.tab.locator(".bot-card strong", { hasText: "Cakes & Co." }).first())).toBe(true);

    await linkTo(page, "المعرفة").click();
    const facts = page.tab.locator("li", { hasText: "delivery.md" }).locator("small bdi");
    await facts.first().waitFor();
    const [format, length] = await facts.all();
    expect(await format?.innerText()).toBe("MD");
    const leftOf = async (locator?: Locator) => (await locator?.boundingBox())?.x;
    expect(await leftOf(format)).toBeGreaterThan((await leftOf(length)) ?? Number.NaN);
  });

  it("shows the preview, and the widget in it, in the console's language", async () => {
    const { page } = await openConsole(fixture, { locale: "ar" });
    await page.signIn("/playground", "ساحة التجربة");
    const preview = page.tab.frameLocator("iframe");
    await preview.getByRole("textbox", { name: "رسالتك" }).waitFor();
    expect(await preview.getByRole("heading", { level: 1 }).innerText()).toBe("صفحة من موقعك");
    expect(await preview.locator("html").evaluate(({ lang, dir }: HTMLElement) => ({ lang, dir }))).toEqual({
      lang: "ar",
      dir: "rtl",
    });
    expect(page.problems).toEqual([]);
  });

  it("is English if the catalogue of the language cannot be loaded", async () => {
    const { page } = await openGerman();
    await page.tab.route("**/assets/de-*.js", (route) => route.abort());
    await page.signIn("/conversations", "Conversations");
    expect(await languageOf(page)).toEqual({ lang: "en", dir: "ltr" });
  });

  it("says in the user's language that the console's code could not be loaded, and loads it again", async () => {
    const { page } = await openGerman();
    await page.tab.route("**/assets/app-*.js", (route) => route.abort());
    await page.goto("/conversations");
    await page.tab.getByRole("alert").getByText("Ein Teil der Konsole konnte nicht geladen werden.").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tab.unrouteAll();
    await page.tab.getByRole("button", { name: "Seite neu laden" }).click();
    await page.tab
      .getByRole("link", { name: "Anmelden" })
      .or(page.tab.getByRole("button", { name: "Anmelden" }))
      .waitFor();
  });
});

function linkTo(page: ConsolePage, name: string): Locator {
  return page.tab.getByRole("navigation").getByRole("link", { name, exact: true });
}

function languageOf(page: ConsolePage): Promise<{ lang: string; dir: string }> {
  return page.tab.evaluate(() => ({ lang: document.documentElement.lang, dir: document.documentElement.dir }));
}

function isAtLeft(locator: Locator): Promise<boolean> {
  return locator.evaluate((element) => element.getBoundingClientRect().right < innerWidth / 2);
}

/** Returns whether the last character is at the right of the first one. */
function endsAtRight(locator: Locator): Promise<boolean> {
  return locator.evaluate((element) => {
    const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode() as Text;
    const leftAt = (offset: number) => {
      const range = document.createRange();
      range.setStart(text, offset);
      range.setEnd(text, offset + 1);
      return range.getBoundingClientRect().left;
    };
    return leftAt(text.length - 1) > leftAt(0);
  });
}
