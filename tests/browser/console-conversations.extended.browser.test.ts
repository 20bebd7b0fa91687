import { readFile } from "node:fs/promises";
import { queryRows } from "@parley/test-support";
import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot, addConversation } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowserBeforeRelease, eventually } from "./fixture.ts";

describeInBrowserBeforeRelease("conversations in the console", (fixture) => {
  it("filters by a selected rating and by typed dates, keeps the focus and announces the count, with the keyboard alone", async () => {
    const bot = await addBot(fixture.service);
    const visitor = await addConversation(fixture.service, bot, { rating: "up" });
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/conversations?bot=${bot}`, "Conversations");
    const row = page.tab.getByRole("link", { name: new RegExp(visitor) });
    const count = page.tab
      .locator("main")
      .getByRole("status")
      .filter({ hasText: /conversations?/ });
    const focused = () => page.tab.evaluate(() => (document.activeElement as HTMLInputElement | null)?.name);
    const search = () => new URL(page.tab.url()).search;
    await eventually(() => count.innerText()).toBe("1 conversation found.");
    await page.tabTo("Visitor's rating");
    await keyboard.press("ArrowDown");
    await page.tab.waitForURL(/rating=up/);
    await row.waitFor();
    await keyboard.press("ArrowDown");
    await page.tab.waitForURL(/rating=down/);
    await page.tab.getByText("No conversation matches").waitFor();
    expect(await focused()).toBe("rating");
    await eventually(() => count.innerText()).toBe("0 conversations found.");
    await keyboard.press("Home");
    await row.waitFor();
    await page.tabTo("From");
    await keyboard.type("01022024");
    expect([await focused(), search()]).toEqual(["from", `?bot=${bot}`]);
    await keyboard.press("Enter");
    await page.tab.waitForURL(/from=2024-01-02/);
    await row.waitFor();
    expect([await focused(), await page.field("From").inputValue()]).toEqual(["from", "2024-01-02"]);
    await page.tabTo("To");
    await keyboard.type("03042024");
    // The filter applies when the focus leaves the field. The next element is the link that removes the filters.
    await page.tabTo("Remove all filters");
    await page.tab.waitForURL(/to=2024-03-04/);
    await eventually(() => count.innerText()).toBe("0 conversations found.");
    await keyboard.press("Enter");
    await page.tab.waitForURL(/\/conversations$/);
    await eventually(() => page.field("From").inputValue()).toBe("");
    expect([await focused(), await page.field("Bot").inputValue()]).toEqual(["q", ""]);
    await page.tab.goBack();
    await eventually(() => page.field("To").inputValue()).toBe("2024-03-04");
    expect(await page.field("Bot").inputValue()).toBe(bot);
    expect(page.problems).toEqual([]);
  });

  it("filters by a visitor's id of 20 digits, from the URL and from the field", async () => {
    const bot = await addBot(fixture.service);
    const visitor = await addConversation(fixture.service, bot, { visitorId: "12345678901234567891" });
    await addConversation(fixture.service, bot, { visitorId: "12345678901234567892" });
    const { page } = await openConsole(fixture);
    await page.signIn(`/conversations?bot=${bot}&visitor=${visitor}`, "Conversations");
    const rows = page.tab.getByRole("list", { name: "Conversations" }).getByRole("listitem");
    const expectOnlyVisitor = () => eventually(() => rows.allInnerTexts()).toEqual([expect.stringContaining(visitor)]);
    await expectOnlyVisitor();
    expect(await page.field("Visitor").inputValue()).toBe(visitor);
    await page.goto(`/conversations?bot=${bot}`);
    await eventually(() => rows.count()).toBe(2);
    await page.field("Visitor").fill(visitor);
    await page.button("Search").click();
    await page.tab.waitForURL((url) => url.searchParams.get("visitor") === visitor);
    await expectOnlyVisitor();
    await page.tab.reload();
    await expectOnlyVisitor();
    expect(page.problems).toEqual([]);
  });

  it("erases a visitor only after the visitor's id was typed", async () => {
    const bot = await addBot(fixture.service);
    const visitor = await addConversation(fixture.service, bot);
    const { page } = await openConsole(fixture);
    await page.signIn(`/conversations?visitor=${visitor}`, "Conversations");
    await page.tab.getByRole("link", { name: new RegExp(visitor) }).click();
    await page.button("Erase visitor").click();
    const erase = page.button("Erase");
    expect(await erase.isDisabled()).toBe(true);
    await page.field(`Type ${visitor} to confirm`).fill(visitor.slice(1));
    expect(await erase.isDisabled()).toBe(true);
    await page.field(`Type ${visitor} to confirm`).fill(visitor);
    await erase.click();
    await eventually(() => page.announcement.innerText()).toBe("1 conversation is being erased.");
    const isStored = async () => {
      const { sessions } = await fixture.service.admin.sessions.listSessions({
        workspaceId: CONSOLE_WORKSPACE,
        botSlug: bot,
      });
      return sessions.length > 0;
    };
    await eventually(isStored).toBe(false);
    expect(page.problems).toEqual([]);
  });

  it("shows more conversations on demand, and exports only the chosen bot's conversations", async () => {
    const [bot, other] = [await addBot(fixture.service), await addBot(fixture.service)];
    for (let count = 0; count < 21; count++) await addConversation(fixture.service, bot);
    await addConversation(fixture.service, other);
    // An export omits conversations that started less than a minute ago.
    await queryRows(
      fixture.service.system.databaseUrl,
      `UPDATE conversation.sessions SET started_at = started_at - interval '2 minutes'
       WHERE bot_id IN (SELECT bot_id FROM conversation.bots WHERE slug IN ($1, $2))`,
      [bot, other],
    );
    const { page } = await openConsole(fixture);
    await page.signIn(`/conversations?bot=${bot}`, "Conversations");
    const rows = page.tab.getByRole("list", { name: "Conversations" }).getByRole("listitem");
    await eventually(() => rows.count()).toBe(20);
    await page.button("Show more").click();
    await eventually(() => rows.count()).toBe(21);
    expect(await page.button("Show more").count()).toBe(0);
    await page.button("Export").click();
    const [download] = await Promise.all([
      page.tab.waitForEvent("download"),
      page.tab.getByRole("menuitem", { name: /^CSV/ }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("conversations.csv");
    const [header = "", ...messages] = (await readFile(await download.path(), "utf8")).trimEnd().split("\r\n");
    expect(header).toMatch(/^\uFEFFsession_id,bot_slug,/);
    // Each conversation has a question and a reply.
    expect(messages).toHaveLength(42);
    for (const message of messages) expect(message).toContain(`,${bot},`);
    expect(page.problems).toEqual([]);
  });
});
