import type { BrowserContextOptions } from "playwright-core";
import { expect, it } from "vitest";
import { type ConsolePage, openConsole } from "./console-page.ts";
import { addScreens, type ConsoleScreen, openScreen } from "./console-screens.ts";
import { describeInBrowserBeforeRelease, eventually } from "./fixture.ts";

/** More than the page has outside of the screen: the link to the content, the navigation and the user's menu. */
const OTHER_ELEMENTS = 40;

type Check = (page: ConsolePage, screen: ConsoleScreen) => Promise<string[]>;

/** The columns of the table. A check returns the faults of a loaded screen. */
const COLUMNS: Readonly<Record<string, { options: BrowserContextOptions; checks: readonly Check[] }>> = {
  keyboard: { options: {}, checks: [findUnreachable] },
  "focus after navigation": { options: {}, checks: [findLostFocus] },
  "320 px": { options: { viewport: { width: 320, height: 640 } }, checks: [findLayoutFaults] },
  "375 px": { options: { viewport: { width: 375, height: 812 } }, checks: [findLayoutFaults] },
  "200 % zoom": { options: { viewport: { width: 720, height: 450 } }, checks: [findLayoutFaults] },
  "400 % zoom": { options: { viewport: { width: 320, height: 256 } }, checks: [findLayoutFaults] },
  light: { options: { colorScheme: "light" }, checks: [findAxeViolations] },
  dark: { options: { colorScheme: "dark" }, checks: [findAxeViolations] },
  "forced colours": { options: { forcedColors: "active" }, checks: [findAxeViolations, findHiddenCurrentScreen] },
};

describeInBrowserBeforeRelease("table of the console's screens", (fixture) => {
  it("has no fault on any screen, by keyboard, width, zoom, theme and forced colours", async () => {
    const screens = await addScreens(fixture.service);
    const faults: string[] = [];
    const rows = new Map(screens.map(({ path, heading }) => [path, [heading]]));
    for (const [column, { options, checks }] of Object.entries(COLUMNS)) {
      const { page, context } = await openConsole(fixture, options);
      await page.signIn();
      for (const screen of screens) {
        await openScreen(page, screen);
        await page.savePicture(`${column}-${screen.heading}`.replaceAll(/\W+/g, "-"));
        const found: string[] = [];
        for (const check of checks) found.push(...(await check(page, screen)));
        faults.push(...found.map((fault) => `${screen.path}, ${column}: ${fault}`));
        rows.get(screen.path)?.push(String(found.length));
      }
      await context.close();
    }
    const titles = ["screen", ...Object.keys(COLUMNS)];
    console.log([titles, ...rows.values()].map((cells) => `| ${cells.join(" | ")} |`).join("\n"));
    expect(faults).toEqual([]);
  }, 600_000);
});

/** Returns the visible controls of the screen that the Tab key does not reach. */
async function findUnreachable(page: ConsolePage): Promise<string[]> {
  const expected = await page.tab.evaluate(() => {
    for (const element of document.querySelectorAll("main :is(a[href], button, input, select, textarea, summary)"))
      if (element.checkVisibility({ visibilityProperty: true }) && !element.matches(":disabled, [tabindex='-1']"))
        element.setAttribute("data-unreached", "");
    (document.activeElement as HTMLElement).blur();
    return document.querySelectorAll("[data-unreached]").length;
  });
  for (let presses = 0; presses < expected + OTHER_ELEMENTS; presses++) {
    await page.tab.keyboard.press("Tab");
    const rest = await page.tab.evaluate(() => {
      document.activeElement?.removeAttribute("data-unreached");
      return document.querySelectorAll("[data-unreached]").length;
    });
    if (rest === 0) return [];
  }
  const unreached = page.tab.locator("[data-unreached]");
  return unreached.evaluateAll((elements) => elements.map(({ outerHTML }) => outerHTML.slice(0, 120)));
}

/** Follows the link of the navigation to the screen with the keyboard. The focus must be on the content afterwards. */
async function findLostFocus(page: ConsolePage, { link }: ConsoleScreen): Promise<string[]> {
  if (link === undefined) return [];
  await page.openScreen(link === "Usage" ? "Keys" : "Usage");
  await page.tab.getByRole("link", { name: link, exact: true }).press("Enter");
  await page.heading(link).waitFor();
  await eventually(() => page.focusedName()).not.toBe("BODY");
  const focused = await page.focusedName();
  return focused === "MAIN" ? [] : [`the focus is on ${focused}`];
}

/** A screen has one heading, the title with its name, the mark of the current screen in the navigation, and no sideways scrolling. */
async function findLayoutFaults(page: ConsolePage, { heading, link }: ConsoleScreen): Promise<string[]> {
  const faults: string[] = [];
  const headings = await page.tab.getByRole("heading", { level: 1 }).allInnerTexts();
  if (headings.join() !== heading) faults.push(`the headings are ${headings.join()}`);
  await eventually(() => page.tab.title()).toBe(`${heading} · Parley`);
  if (await page.scrollsSideways()) faults.push("it scrolls sideways");
  await page.button("Open the menu").click();
  const current = page.tab.getByRole("navigation", { name: "Screens" }).locator("[aria-current=page]");
  const names = await current.allInnerTexts();
  if (names.join() !== (link ?? "")) faults.push(`the current screen is "${names.join()}"`);
  return faults;
}

function findAxeViolations(page: ConsolePage): Promise<string[]> {
  return page.findAxeViolations();
}

/** In forced colours, the navigation must show the current screen in another colour. */
async function findHiddenCurrentScreen(page: ConsolePage, { link }: ConsoleScreen): Promise<string[]> {
  if (link === undefined) return [];
  const links = page.tab.getByRole("navigation", { name: "Screens" }).getByRole("link");
  const colors = await links.evaluateAll((all) =>
    all.map((each) => [each.ariaCurrent === "page", getComputedStyle(each).backgroundColor] as const),
  );
  const [current, other] = [true, false].map((isCurrent) => colors.find(([is]) => is === isCurrent)?.[1]);
  return current === other ? ["the current screen looks like the others"] : [];
}
