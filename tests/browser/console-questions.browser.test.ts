import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot, addConversation } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("questions in the console", (fixture) => {
  it("lets a user add a text for an unanswered question, and a question to the bot's evaluation, with the keyboard alone", async () => {
    const bot = await addBot(fixture.service);
    await addConversation(fixture.service, bot, { message: "Do you sell gift vouchers?" });
    await addConversation(fixture.service, bot, { message: "gift vouchers, do you sell them?" });
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/questions?bot=${bot}`, "Unanswered questions");
    const row = page.tab.getByRole("list", { name: "Unanswered questions" }).getByRole("listitem");
    await row.first().waitFor();
    expect(await row.count()).toBe(1);
    expect(await row.innerText()).toMatch(
      /^2\s+2 times\ngift vouchers, do you sell them\?\n2 without a passage · last /,
    );

    await page.tabTo("Add knowledge: gift vouchers, do you sell them?");
    await keyboard.press("Enter");
    await page.heading("Knowledge").waitFor();
    expect(await page.field("Title").inputValue()).toBe("gift vouchers, do you sell them?");
    await eventually(() => page.tab.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
    await keyboard.type("Gift vouchers are sold at the counter.");
    await page.tabTo("Add text");
    await keyboard.press("Enter");
    await page.button("Remove gift vouchers, do you sell them?").waitFor();

    await page.tabTo("Question");
    await keyboard.type("Where do I get a voucher?");
    await keyboard.press("Enter");
    await page.tab.getByText("The bot would look for an answer in this passage.").waitFor();
    const passage = page.tab.getByRole("list", { name: "Passages found" }).getByRole("listitem");
    expect(await passage.innerText()).toMatch(
      /^gift vouchers, do you sell them\?.*\n\s*Found by its words\s*Gift vouchers are sold at the counter\.$/,
    );
    expect(await page.tab.evaluate(() => document.activeElement?.tagName)).toBe("INPUT");
    await page.tabTo("Add to the evaluation");
    await keyboard.press("Enter");
    await page.heading("Evaluation").waitFor();
    expect(await page.field("Question").inputValue()).toBe("Where do I get a voucher?");
    await page.tabTo("What answers it");
    await keyboard.type("gift");
    await page.tabTo("Add question");
    await keyboard.press("Enter");
    await page.tab.getByText("Not run yet").waitFor();
    await page.tabTo("Run");
    await keyboard.press("Enter");
    await page.tab.getByText("Found at place 1").waitFor();
    await eventually(() => page.announcement.innerText()).toBe("Found in the last run: 1 of 1");
    expect(page.problems).toEqual([]);
  });

  it("marks a question as answered after a document with its words was added", async () => {
    const bot = await addBot(fixture.service);
    await addConversation(fixture.service, bot, { message: "Do you sell gift vouchers?" });
    await addConversation(fixture.service, bot, { message: "Where can I park?" });
    await fixture.service.admin.knowledge.addSource({
      workspaceId: CONSOLE_WORKSPACE,
      botSlug: bot,
      name: "Where can I park?",
      format: "md",
      content: Buffer.from("# Where can I park?\n\nBehind the shop."),
    });
    const { page } = await openConsole(fixture);
    await page.signIn(`/questions?bot=${bot}`, "Unanswered questions");
    const rows = page.tab.getByRole("list", { name: "Unanswered questions" }).getByRole("listitem");
    await rows.first().waitFor();
    expect(await rows.count()).toBe(1);
    await page.field("Status").selectOption("All");
    await eventually(() => rows.count()).toBe(2);
    const answered = await rows.evaluateAll((all) => all.map((row) => row.querySelector(".badge")?.textContent));
    expect(answered).toEqual([undefined, "Answered since by Where can I park?"]);
    expect(await page.findAxeViolations()).toEqual([]);
  });

  it("scrolls to what the links of a question open, and shows no error in the emptied form for a text", async () => {
    const bot = await addBot(fixture.service);
    await addConversation(fixture.service, bot, { message: "Where can I park?" });
    const { page } = await openConsole(fixture, { viewport: { width: 1000, height: 300 } });
    const isInView = (locator: Locator) =>
      locator.evaluate((element) => {
        const { top, bottom } = element.getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight;
      });
    const openLink = async (name: string) => {
      await page.signIn(`/questions?bot=${bot}`, "Unanswered questions");
      await page.tab.getByRole("link", { name: `${name}: Where can I park?` }).click();
    };
    await openLink("Read the conversation");
    await eventually(() => isInView(page.tab.locator(".bubble.visitor"))).toBe(true);
    await openLink("Try this question");
    await eventually(() => isInView(page.heading2("Try a question"))).toBe(true);
    await openLink("Add knowledge");
    await eventually(() => isInView(page.field("Text"))).toBe(true);

    await page.field("Text").fill("Cars park behind the shop.");
    await page.button("Add text").click();
    await eventually(() => page.field("Text").inputValue()).toBe("");
    expect(await page.tab.locator(".input:user-invalid").count()).toBe(0);
    expect(page.problems).toEqual([]);
  });
});
