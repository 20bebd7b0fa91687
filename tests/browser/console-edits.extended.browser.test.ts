import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("changes in the console", (fixture) => {
  it("gives each button of the Keys screen a unique name", async () => {
    const botSlug = await addBot(fixture.service);
    const domains = ["bakery.example"];
    await fixture.service.admin.keys.createKey({ workspaceId: CONSOLE_WORKSPACE, botSlug, domains });
    const { page } = await openConsole(fixture);
    await page.signIn("/keys", "Keys");
    const main = page.tab.getByRole("main");
    await main.getByRole("listitem").filter({ hasText: "bakery.example" }).first().waitFor();
    const names = await main
      .getByRole("button")
      .evaluateAll((buttons) => buttons.map((button) => button.ariaLabel ?? button.textContent));
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name, at) => names.indexOf(name) < at)).toEqual([]);
    expect(page.problems).toEqual([]);
  });

  it("wraps long lines of the HTML to embed, so that the HTML needs no scrolling, and shows that the HTML was copied", async () => {
    await addBot(fixture.service);
    const { page, context } = await openConsole(fixture);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.signIn("/keys", "Keys");
    await page.tab
      .getByRole("button", { name: /^Embed the key of Bakery guide/ })
      .first()
      .click();
    const copy = page.button("Copy the HTML");
    const code = page.tab.locator(".snippet code");
    expect(await code.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
    expect(await code.evaluate((element) => element.tabIndex)).toBe(-1);
    expect(await page.findAxeViolations()).toEqual([]);
    const icon = () => copy.locator("path").getAttribute("d");
    const before = await icon();
    await copy.press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("Copied.");
    expect(await icon()).not.toBe(before);
    expect(await page.tab.evaluate(() => navigator.clipboard.readText())).toContain("data-public-key");
  });

  it("tries a changed rule on a text before the rule is saved, with the keyboard alone", async () => {
    const botSlug = await addBot(fixture.service);
    const bot = { workspaceId: CONSOLE_WORKSPACE, botSlug };
    const { moderation } = fixture.service.admin;
    const [before] = (await moderation.listPatterns(bot)).patterns;
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/moderation?bot=${botSlug}`, "Moderation");
    await page.button("Edit the rule refund").waitFor();
    await page.tabTo("Edit the rule refund");
    await keyboard.press("Enter");
    const dialog = page.tab.getByRole("dialog", { name: "Change the rule" });
    await dialog.waitFor();
    expect(await page.field("Text in place of the answer").inputValue()).toBe(before?.fallback);
    // The rule is a pattern and not words, so the dialog shows it as a pattern.
    await page.tabTo("Pattern");
    await page.retype("mon.y back");
    await page.tabTo("Text to try");
    await keyboard.type("A refund: my money back");
    const matches = page.tab.getByRole("list", { name: "Rules that match" });
    await eventually(() => matches.innerText()).toBe("mon.y back\nBlocks it as a visitor's message\nNot saved");
    expect(await page.findAxeViolations()).toEqual([]);
    expect((await moderation.listPatterns(bot)).patterns).toEqual([before]);
    await page.tabTo("Save rule");
    await keyboard.press("Enter");
    await dialog.waitFor({ state: "hidden" });
    await page.button("Edit the rule mon.y back").waitFor();
    expect((await moderation.listPatterns(bot)).patterns).toEqual([{ ...before, pattern: "mon.y back" }]);
    expect(page.problems).toEqual([]);
  });

  it("adds a rule of words, shows the words again when the rule is edited, and turns the rule into a pattern", async () => {
    const botSlug = await addBot(fixture.service);
    const bot = { workspaceId: CONSOLE_WORKSPACE, botSlug };
    const { moderation } = fixture.service.admin;
    const { page } = await openConsole(fixture);
    await page.signIn(`/moderation?bot=${botSlug}`, "Moderation");
    await page.button("New rule").click();
    await page.field("Words").fill("voucher\nMoney back, crêpe");
    await page.button("Add rule").click();
    await page.button("Edit the rule voucher, Money back, crêpe").click();
    expect(await page.field("Words").inputValue()).toBe("voucher\nMoney back\ncrêpe");
    await page.field("Words").fill("voucher");
    await page.button("Save rule").click();
    await page.button("Edit the rule voucher").click();
    expect((await moderation.listPatterns(bot)).patterns.at(-1)?.words).toEqual(["voucher"]);
    await page.field("Kind").selectOption("pattern");
    await page.field("Pattern").fill("vouch.r");
    await page.button("Save rule").click();
    await page.button("Edit the rule vouch.r").click();
    expect(await page.field("Pattern").inputValue()).toBe("vouch.r");
    expect((await moderation.listPatterns(bot)).patterns.at(-1)).toMatchObject({ pattern: "vouch.r", words: [] });
    expect(page.problems).toEqual([]);
  });

  it("adds and changes a tool of an owner, with a value for each name in its address, with the keyboard alone", async () => {
    const botSlug = await addBot(fixture.service);
    const { page } = await openConsole(fixture, { viewport: { width: 375, height: 812 } });
    const { keyboard } = page.tab;
    await page.signIn(`/tools?bot=${botSlug}`, "Tools");
    await page.button("New tool").waitFor();
    await page.tabTo("New tool");
    await keyboard.press("Space");
    const dialog = page.tab.getByRole("dialog", { name: "New tool" });
    await dialog.waitFor();
    await eventually(() => page.focusedName()).toBe("Name");
    await keyboard.type("look up");
    await page.tabTo("What it does, and when to use it");
    await dialog.getByText("Begin with a letter").waitFor();
    await keyboard.type("Returns the state of an order.");
    await page.tabTo("Name", "Shift+Tab");
    await page.retype("order_state");
    await page.tabTo("Address");
    await keyboard.type("https://bakery.example/orders/{number}");
    await page.tabTo("Meaning of value 1");
    await keyboard.type("The number of the order");
    await page.tabTo("Add a value");
    await keyboard.press("Enter");
    await eventually(() => page.focusedName()).toBe("Name of value 2");
    await keyboard.type("email");
    await page.tabTo("Meaning of value 2");
    await keyboard.type("The visitor's address");
    expect(await page.findAxeViolations()).toEqual([]);
    expect(await page.scrollsSideways()).toBe(false);
    await page.savePicture("new-tool-375");
    await keyboard.press("Enter");
    await dialog.waitFor({ state: "hidden" });
    await page.button("Edit order_state").waitFor();
    await page.tab.getByText("Added by an owner").waitFor();
    const readTool = async () => {
      const { tools } = await fixture.service.admin.tools.listTools({ workspaceId: CONSOLE_WORKSPACE, botSlug });
      const tool = tools.find(({ name }) => name === "order_state");
      return tool?.kind.case === "http" ? { byOwner: tool.byOwner, ...tool.kind.value } : undefined;
    };
    expect(await readTool()).toMatchObject({
      byOwner: true,
      method: "GET",
      url: "https://bakery.example/orders/{number}",
      parameters: JSON.stringify({
        type: "object",
        properties: {
          number: { type: "string", description: "The number of the order" },
          email: { type: "string", description: "The visitor's address" },
        },
        required: ["number", "email"],
      }),
    });
    expect(await page.tab.getByRole("button", { name: "Edit look_up_order" }).count()).toBe(0);
    await page.button("Edit order_state").press("Enter");
    await page.button("Remove value 2").press("Enter");
    await eventually(() => page.focusedName()).toBe("Add a value");
    await page.field("Purpose").selectOption("POST");
    await page.button("Save tool").press("Enter");
    await page.tab.getByText("POST https://bakery.example").waitFor();
    expect(JSON.parse((await readTool())?.parameters ?? "").required).toEqual(["number"]);
    await eventually(() => page.focusedName()).toBe("Edit order_state");
    expect(page.problems).toEqual([]);
  });
});
