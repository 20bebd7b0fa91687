import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot, addConversation } from "./console-bot.ts";
import { type ConsolePage, openConsole } from "./console-page.ts";
import { addScreens, openScreen } from "./console-screens.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

/** More than any screen has without the rows of other tests. */
const MAX_TABS = 40;

describeInBrowser("accessibility of the console's screens", (fixture) => {
  it("shows the focused element above everything else, whichever way the focus moves", async () => {
    const screens = await addScreens(fixture.service);
    const { page } = await openConsole(fixture, { viewport: { width: 375, height: 640 } });
    await page.signIn();
    for (const screen of screens) {
      await openScreen(page, screen);
      // With a change, the bar with "Save" stays at the bottom of the window.
      if (screen.heading === "Bakery guide") await page.field("Name").fill("Bakery guide 2");
      for (const key of ["Tab", "Shift+Tab"]) expect(await findCoveredElements(page, key), screen.path).toEqual([]);
      if (screen.heading === "Bakery guide") await page.button("Discard").press("Enter");
    }
  }, 240_000);

  it("returns the focus to the button that opened a dialog, after Escape, Space on Cancel, and a save", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn();
    const dialogs = [
      { path: "/bots", button: "New bot" },
      { path: "/keys", button: "New key" },
      { path: "/keys", button: /^Embed the key of Bakery guide/ },
      { path: "/keys", button: /^Edit the key of Bakery guide/ },
      { path: "/keys", button: /^Revoke the key of Bakery guide/ },
      { path: `/moderation?bot=${bot}`, button: "New rule" },
      { path: `/moderation?bot=${bot}`, button: "Edit the rule refund" },
      { path: `/moderation?bot=${bot}`, button: "Remove the rule refund" },
      { path: `/tools?bot=${bot}`, button: "Remove look_up_order" },
      { path: `/tools?bot=${bot}`, button: "New tool" },
      { path: `/knowledge?bot=${bot}`, button: "Add a website" },
      { path: `/knowledge?bot=${bot}`, button: "Remove delivery.md" },
      { path: `/knowledge/document?bot=${bot}&name=delivery.md`, button: "Rename" },
      { path: `/knowledge/document?bot=${bot}&name=delivery.md`, button: "Remove" },
      { path: `/answers?bot=${bot}`, button: "New answer" },
      { path: "/visitors", button: "New identity key" },
      { path: "/webhooks", button: "New webhook" },
      { path: "/usage", button: "Change the thresholds" },
    ];
    for (const { path, button } of dialogs) {
      await page.goto(path);
      const opener = page.tab.getByRole("button", { name: button }).first();
      await eventually(() => opener.isEnabled()).toBe(true);
      const dialog = page.tab.locator("[role=dialog], [role=alertdialog]");
      const hasFocus = () => opener.evaluate((element) => element === document.activeElement);
      await opener.focus();
      await keyboard.press("Space");
      await dialog.waitFor();
      await keyboard.press("Escape");
      await dialog.waitFor({ state: "hidden" });
      await eventually(hasFocus).toBe(true);
      await keyboard.press("Enter");
      await dialog.waitFor();
      const cancel = dialog.getByRole("button", { name: /^(?:Cancel|Close)$/ }).last();
      await cancel.focus();
      await keyboard.press("Space");
      await dialog.waitFor({ state: "hidden" });
      await eventually(hasFocus).toBe(true);
    }
    await page.goto("/keys");
    await eventually(() => page.button("New key").isEnabled()).toBe(true);
    await page.button("New key").press("Enter");
    await page.field("Domains").fill("returned.example");
    await page.button("Create key").press("Enter");
    await page.tab.getByRole("dialog", { name: "Put the bot on your site" }).waitFor();
    await keyboard.press("Escape");
    await eventually(() => page.focusedName()).toBe("New key");
    expect(page.problems).toEqual([]);
  }, 120_000);

  it("keeps the focus when a button is disabled, a row disappears or more rows are shown", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/bots/${bot}`, "Bakery guide");
    await page.button("Remove suggested question 1").press("Enter");
    expect(await page.focusedName()).toBe("Remove suggested question 1");
    await page.button("Remove suggested question 1").press("Enter");
    expect(await page.focusedName()).toBe("Add a question");
    await page.button("Discard").press("Enter");
    expect(await page.focusedName()).toBe("Discard");
    await page.field("Name").fill("Bakery guide 2");
    await page.button("Save").press("Enter");
    await eventually(() => page.announcement.innerText()).toContain("Saved");
    expect(await page.focusedName()).toBe("Save");

    await page.goto(`/knowledge?bot=${bot}`);
    await page.dropFile("table.ods", "x");
    await page.button("Close the message").press("Enter");
    await page.button("Clear finished").press("Enter");
    await page.button("Clear finished").waitFor({ state: "hidden" });
    expect(await page.focusedName()).not.toBe("BODY");

    await page.goto(`/moderation?bot=${bot}`);
    await page.button("Remove the rule refund").press("Enter");
    await page.button("Remove").press("Enter");
    await page.tab.getByText("No rule yet").waitFor();
    await eventually(() => page.focusedName()).toBe("MAIN");
    await page.button("New rule").press("Enter");
    await page.field("Words").fill("voucher");
    await page.button("Add rule").press("Enter");
    await page.button("Edit the rule voucher").waitFor();
    // The button that opened the dialog was below "No rule yet", and has gone.
    await eventually(() => page.focusedName()).toBe("MAIN");

    const { bots } = fixture.service.admin;
    for (let changes = 0; changes <= 50; changes++)
      await bots.updateBot({ workspaceId: CONSOLE_WORKSPACE, slug: bot, changes: { borderRadius: changes } });
    await page.goto("/audit-log");
    const rows = page.tab.getByRole("list", { name: "Changes" }).getByRole("listitem");
    await eventually(() => rows.count()).toBe(50);
    await page.button("Show more").press("Enter");
    await eventually(() => rows.nth(50).evaluate((row) => row === document.activeElement)).toBe(true);
    expect(page.problems).toEqual([]);
  }, 120_000);

  it("moves the focus to the screen that is chosen in a phone's menu, and back to the menu's button after Escape", async () => {
    const { page } = await openConsole(fixture, { viewport: { width: 375, height: 640 } });
    await page.signIn();
    await page.button("Open the menu").press("Enter");
    await eventually(() => page.focusedName()).toBe("Close the menu");
    await page.tab.keyboard.press("Escape");
    await eventually(() => page.focusedName()).toBe("Open the menu");
    for (const name of ["Usage", "Usage"]) {
      await page.button("Open the menu").press("Enter");
      await page.tab.getByRole("link", { name, exact: true }).press("Enter");
      await page.heading(name).waitFor();
      await page.tab.getByRole("dialog").waitFor({ state: "hidden" });
    }
    await page.button("Open the menu").press("Enter");
    await page.tab.getByRole("link", { name: "Keys", exact: true }).press("Enter");
    await page.heading("Keys").waitFor();
    await eventually(() => page.focusedName()).toBe("MAIN");
    await page.tab.getByRole("dialog").waitFor({ state: "hidden" });
    expect(await page.focusedName()).toBe("MAIN");
  });

  it("opens a phone's menu whose button was pressed before the menu's code was loaded", async () => {
    const { page } = await openConsole(fixture, { viewport: { width: 375, height: 640 } });
    const { promise: mayLoad, resolve: load } = Promise.withResolvers<void>();
    await page.tab.route("**/assets/drawer-*.js", async (route) => {
      await mayLoad;
      await route.continue();
    });
    await page.signIn();
    await page.button("Open the menu").press("Enter");
    load();
    await page.tab.getByRole("dialog", { name: "Menu" }).waitFor();
    await page.tab.keyboard.press("Escape");
    await eventually(() => page.focusedName()).toBe("Open the menu");
    expect(page.problems).toEqual([]);
  });

  it("says what a colour and a short name may be, and moves the focus to the wrong field", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/bots/${bot}`, "Bakery guide");
    const describeField = (label: string) =>
      page.field(label).evaluate((field) => {
        const ids = field.getAttribute("aria-describedby")?.split(" ") ?? [];
        return { isInvalid: field.ariaInvalid, description: document.getElementById(ids[0] ?? "")?.textContent };
      });
    const wrong = "Write # and six digits or letters from A to F, such as #2f5fd0.";
    await page.field("Colour").fill("red");
    await page.field("Name").focus();
    expect(await describeField("Colour")).toEqual({ isInvalid: "true", description: wrong });
    await page.field("Name").press("Enter");
    await eventually(() => page.focusedName()).toBe("Colour");
    expect(await page.findAxeViolations()).toEqual([]);
    await page.field("Colour").fill("#0a7d45");
    expect(await describeField("Colour")).toEqual({ isInvalid: null, description: undefined });
    await page.button("Discard").press("Enter");
    await page.goto("/bots");
    await page.button("New bot").press("Enter");
    await page.field("Name").fill("Ada");
    await page.field("Short name").fill("Ada's");
    await page.button("Create bot").press("Enter");
    expect(await describeField("Short name")).toEqual({
      isInvalid: "true",
      description: "Use only the letters a to z, digits and hyphens.",
    });
  });

  it("shows each text of a conversation in its own direction", async () => {
    const bot = await addBot(fixture.service);
    const visitor = await addConversation(fixture.service, bot, { message: "מתי אתם פותחים?" });
    const { page } = await openConsole(fixture);
    await page.signIn(`/conversations?bot=${bot}`, "Conversations");
    const directionOf = (text: string) =>
      page.tab
        .getByText(text)
        .first()
        .evaluate((element) => getComputedStyle(element).direction);
    expect(await directionOf("מתי אתם פותחים?")).toBe("rtl");
    await page.tab.getByRole("link", { name: new RegExp(visitor) }).click();
    await page.heading(visitor).waitFor();
    await page.tab.locator(".bubble.visitor").waitFor();
    expect(await directionOf("מתי אתם פותחים?")).toBe("rtl");
    expect(await page.tab.locator(".bubble.visitor").evaluate((element) => getComputedStyle(element).direction)).toBe(
      "ltr",
    );
  });
});

/** Presses a key until the focus leaves the screen. Returns the names of the focused elements that are outside the window or covered. */
async function findCoveredElements(page: ConsolePage, key: string): Promise<string[]> {
  const covered: string[] = [];
  for (let presses = 0; presses < MAX_TABS; presses++) {
    await page.tab.keyboard.press(key);
    const isVisible = await page.tab.evaluate(() => {
      const element = document.activeElement ?? document.body;
      if (element === document.body || element.tagName === "IFRAME") return undefined;
      const { left, right, top, bottom } = element.getBoundingClientRect();
      // A field that is higher than the window cannot be visible as a whole.
      const shownBottom = Math.min(bottom, innerHeight);
      const [x, y] = [(left + right) / 2, (Math.max(top, 0) + shownBottom) / 2];
      const topmost = document.elementFromPoint(x, y);
      return topmost !== null && (element.contains(topmost) || topmost.contains(element));
    });
    if (isVisible === undefined) break;
    if (!isVisible) covered.push(await page.focusedName());
  }
  return covered;
}
