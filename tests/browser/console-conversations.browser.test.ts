import { expect, it } from "vitest";
import { addBot, addConversation } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("conversations in the console", (fixture) => {
  it("finds a conversation by words, visitor and review, shows its sources, stores and removes a review, and deletes the conversation", async () => {
    const bot = await addBot(fixture.service);
    const [visitor, other] = [await addConversation(fixture.service, bot), await addConversation(fixture.service, bot)];
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/conversations?bot=${bot}`, "Conversations");
    const row = (name: string) => page.tab.getByRole("link", { name: new RegExp(name) });
    await row(visitor).waitFor();
    await row(other).waitFor();
    await page.tabTo("Search");
    await keyboard.type("no such word");
    await keyboard.press("Enter");
    await page.tab.getByText("No conversation matches").waitFor();
    await page.field("Search").fill("DELIVERY OF BREAD");
    await keyboard.press("Enter");
    await row(visitor).waitFor();
    await page.field("Visitor").fill(visitor);
    await keyboard.press("Enter");
    await row(other).waitFor({ state: "hidden" });
    await row(visitor).getByText("Claimed visitor").waitFor();
    await page.tabTo(row(visitor));
    await keyboard.press("Enter");
    await page.heading(visitor).waitFor();
    await page.tab.getByText("Claimed visitor: the page sent this id, and nobody verified it.").waitFor();
    await page.tab.getByText("Rated good").waitFor();
    await page.tab.getByText("regular").waitFor();
    await page.tabTo("1 passage of knowledge");
    await keyboard.press("Enter");
    await page.tab.getByText("We deliver bread every morning before seven.").waitFor();
    await page.tabTo("Bad answer");
    await keyboard.press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("Reviewed as bad.");
    await eventually(() => page.button("Bad answer").getAttribute("aria-pressed")).toBe("true");
    await page.tabTo("Good answer", "Shift+Tab");
    await keyboard.press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("Reviewed as good.");
    await page.goto(`/conversations?bot=${bot}`);
    await page.field("Owners' review").selectOption("good");
    await row(other).waitFor({ state: "hidden" });
    await row(visitor).getByText("Reviewed as good").waitFor();
    await row(visitor).click();
    await page.button("Good answer").click();
    await eventually(() => page.announcement.innerText()).toBe("The review was removed.");
    await eventually(() => page.button("Good answer").getAttribute("aria-pressed")).toBe("false");
    await page.tabTo("Delete");
    await keyboard.press("Enter");
    await page.tabTo("Delete");
    await keyboard.press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("The conversation was deleted.");
    await page.goto(`/conversations?bot=${bot}`);
    await row(other).waitFor();
    expect(await row(visitor).count()).toBe(0);
    expect(page.problems).toEqual([]);
  });

  it("shows a reply's Markdown as the widget does, with links to pages of the visitor's site", async () => {
    const bot = await addBot(fixture.service);
    const visitor = await addConversation(fixture.service, bot, { message: "table" });
    const { page } = await openConsole(fixture);
    await page.signIn(`/conversations?bot=${bot}`, "Conversations");
    await page.tab.getByRole("link", { name: new RegExp(visitor) }).click();
    await page.heading(visitor).waitFor();
    const headers = page.tab.getByRole("table").getByRole("columnheader");
    await eventually(() => headers.allInnerTexts()).toEqual([
      "Plan",
      "Messages",
      "Price a month",
      "Support",
      "Regions",
    ]);
    const links = page.tab.locator(".markdown").getByRole("link");
    expect(await links.evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).href))).toEqual([
      "https://bakery.example/forum",
      "mailto:help@shop.example",
      "tel:+49301234",
      "https://shop.example/plans.png",
      "https://shop.example/plans",
    ]);
    expect(await page.tab.locator(".markdown :is(strong, del)").allInnerTexts()).toEqual(["two", "three"]);
    expect(await page.findAxeViolations()).toEqual([]);
    expect(page.problems).toEqual([]);
  });
});
