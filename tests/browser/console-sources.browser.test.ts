import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot, addConversation } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

/** The service counts replies for the overview every 15 s. */
const COUNT_MS = 60_000;

describeInBrowser("the sources of replies in the console", (fixture) => {
  it("are switched on for a bot, shown with the reply that cites them, and counted in the overview", async () => {
    const { service } = fixture;
    const bot = await addBot(service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/bots/${bot}`, "Bakery guide");
    await page
      .field("Sources below answers")
      .selectOption({ label: "All documents: pages with links, others with their names" });
    await page.button("Save").press("Enter");
    await eventually(() => page.announcement.innerText()).toContain("Saved.");
    const { bot: stored } = await service.admin.bots.getBot({ workspaceId: CONSOLE_WORKSPACE, slug: bot });
    expect(stored?.showSources).toBe("all");

    // The provider repeats the question, and so cites the passage that the question names.
    const cited = await addConversation(service, bot, { message: "When is the delivery of bread [1]?" });
    const other = await addConversation(service, bot, { message: "When is the delivery of bread [9]?" });
    const open = async (visitor: string) => {
      await page.goto(`/conversations?bot=${bot}`);
      await page.tab.getByRole("link", { name: new RegExp(visitor) }).click();
      await page.heading(visitor).waitFor();
      await page.tab.getByText("1 passage of knowledge").press("Enter");
      return page.tab.getByRole("main");
    };
    const screen = await open(cited);
    await screen.getByText("We deliver bread every morning before seven.").waitFor();
    expect(await screen.getByText("cited", { exact: true }).count()).toBe(1);
    expect(await screen.locator("ol.sources").innerText()).toBe("delivery.md");
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture("sources-conversation");

    const otherScreen = await open(other);
    await otherScreen.getByText("We deliver bread every morning before seven.").waitFor();
    expect(await otherScreen.getByText("cited", { exact: true }).count()).toBe(0);
    expect(await otherScreen.locator("ol.sources").count()).toBe(0);

    await eventually(async () => {
      await page.goto("/overview");
      await page.tab.getByText("Answered from knowledge", { exact: true }).waitFor();
      return page.tab.getByRole("main").innerText();
    }, COUNT_MS).toMatch(/[1-9]\d* of them cite it\./);
    await page.savePicture("sources-overview");
    expect(page.problems).toEqual([]);
  }, 120_000);
});
