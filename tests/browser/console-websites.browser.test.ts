import { startWebsite, webPage } from "@parley/test-support";
import { expect, it, onTestFinished } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

/** How long a busy machine may take to crawl three pages. */
const CRAWL_MS = 30_000;

describeInBrowser("a bot's websites in the console", (fixture) => {
  const openSite = async () => {
    const site = await startWebsite();
    onTestFinished(() => site.close());
    site.paths.set("/", webPage("Bakery", '<p>Welcome.</p><a href="/prices">Prices</a><a href="/broken">Broken</a>'));
    site.paths.set("/prices", webPage("Prices", "<p>The cinnamon snail costs 3.10 euros.</p>"));
    site.paths.set("/broken", 500);
    return site;
  };

  it("are added, refreshed and removed with the keyboard alone, and the bot answers from the new text", async () => {
    const bot = await addBot(fixture.service);
    // This model answers with sentences of the documents.
    const changes = { model: "builtin:extractive" };
    await fixture.service.admin.bots.updateBot({ workspaceId: CONSOLE_WORKSPACE, slug: bot, changes });
    const site = await openSite();
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    const replies = page.preview.locator(".assistant .rating");
    /** Asks the bot beside the websites. Returns its reply. */
    const ask = async (question: string) => {
      const before = await replies.count();
      await page.preview.locator("textarea").fill(question);
      await page.preview.locator("textarea").press("Enter");
      await eventually(() => replies.count(), CRAWL_MS).toBe(before + 1);
      return page.preview.locator(".assistant").last().innerText();
    };
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    await page.heading2("Websites").waitFor();
    await page.tabTo("Add a website");
    await keyboard.press("Enter");
    await page.tab.getByRole("dialog", { name: "Add a website" }).waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await keyboard.type(site.origin);
    await keyboard.press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("The website was added. Its pages are being read.");
    const row = page.tab.getByRole("list", { name: "Websites" });
    await eventually(() => row.innerText(), CRAWL_MS).toContain("Incomplete");
    expect((await row.innerText()).replace(/\s+/g, " ")).toMatch(/Pages found 3 Pages done 3 .* Failed 1 Documents 2 /);
    await page.tab.getByRole("link", { name: `${site.origin}/prices` }).waitFor();
    await page.tabTo("Pages that could not be read");
    await keyboard.press("Enter");
    await row.getByText("its server answered with an error").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    expect(await ask("What does the cinnamon snail cost?")).toContain("3.10 euros");

    site.paths.set("/prices", webPage("Prices", "<p>The cinnamon snail costs 3.40 euros.</p>"));
    site.paths.delete("/broken");
    await page.tabTo("Refresh now");
    await keyboard.press("Enter");
    await eventually(() => row.innerText(), CRAWL_MS).toContain("Up to date");
    expect(await ask("What does the cinnamon snail cost today?")).toContain("3.40 euros");

    await page.field("Address of a page").focus();
    await page.tabTo(`Remove ${site.origin}/`);
    await keyboard.press("Enter");
    const dialog = page.tab.getByRole("alertdialog", { name: "Remove the website?" });
    expect(await dialog.innerText()).toContain("Its documents are removed too: 2.");
    await page.tabTo("Remove");
    await keyboard.press("Enter");
    await eventually(() => row.count()).toBe(0);
    expect(await page.tab.evaluate(() => document.activeElement?.id)).toBe("websites");
    await eventually(() => page.tab.getByRole("link", { name: `${site.origin}/prices` }).count()).toBe(0);
    expect(page.problems).toEqual([]);
  }, 90_000);

  it("are changed after they were added: another schedule alone, or other pages, which are read immediately", async () => {
    const bot = await addBot(fixture.service);
    const site = await openSite();
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    await page.button("Add a website").click();
    await page.field("Address").fill(site.origin);
    await page.tab.getByRole("dialog").getByRole("button", { name: "Add a website" }).click();
    const row = page.tab.getByRole("list", { name: "Websites" });
    const facts = async () => (await row.innerText()).replace(/\s+/g, " ");
    await eventually(facts, CRAWL_MS).toContain("Incomplete");
    const requests = site.requests.length;

    const edit = page.button(`Edit ${site.origin}/`);
    // "Add a page", behind the dialog, has such a field too.
    const interval = page.tab.getByRole("dialog").getByLabel("Time between two refreshes");
    await edit.press("Enter");
    await page.tab.getByRole("dialog", { name: "Change the website" }).waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await interval.selectOption({ label: "7 days" });
    await page.button("Save").press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("The schedule was changed.");
    await eventually(facts).toContain("Time between two refreshes 7 days");
    await eventually(() => edit.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(site.requests).toHaveLength(requests);

    await edit.press("Enter");
    await page.field("No pages with these paths").fill("broken\n/prices");
    await page.button("Save").press("Enter");
    await page.tab.getByText("A pattern must begin with / or *.").waitFor();
    await page.field("No pages with these paths").fill("/broken\n /prices ");
    await page.field("Maximum number of pages").fill("20");
    await page.button("Save").press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("The website was changed. Its pages are being read.");
    await eventually(facts, CRAWL_MS).toContain("Up to date");
    expect(await facts()).toMatch(/Documents 1 Maximum number of pages 20 No pages with these paths \/broken \/prices/);
    await eventually(() => page.tab.getByRole("link", { name: `${site.origin}/prices` }).count()).toBe(0);
    await edit.press("Enter");
    expect(await page.field("No pages with these paths").inputValue()).toBe("/broken\n/prices");
    expect(await interval.inputValue()).toBe(String(7 * 24 * 60));
    expect(page.problems).toEqual([]);
  }, 90_000);

  it("of one page alone are added with a schedule, and say why the page cannot be read", async () => {
    const bot = await addBot(fixture.service);
    const site = await openSite();
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    const add = page.tab.getByRole("region", { name: "Add a page by its address" });
    await add.getByLabel("Address of a page").fill(`${site.origin}/prices`);
    await add.getByLabel("Time between two refreshes").selectOption({ label: "1 day" });
    await page.button("Add page").press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("The page was added.");
    const row = page.tab.getByRole("list", { name: "Websites" });
    await eventually(() => row.innerText(), CRAWL_MS).toContain("Up to date");
    await page.tab.getByRole("link", { name: `${site.origin}/prices` }).waitFor();
    expect(await row.innerText()).not.toContain("Pages found");
    site.paths.set("/prices", 500);
    await page.button("Refresh now").press("Enter");
    await eventually(() => row.innerText(), CRAWL_MS).toContain("its server answered with an error");
    await page.button(`Edit ${site.origin}/prices`).press("Enter");
    await page.tab.getByRole("dialog", { name: "Change the website" }).waitFor();
    expect(await page.field("Maximum number of pages").count()).toBe(0);
    expect(site.requests).not.toContain("/");
    expect(page.problems).toEqual([]);
  }, 90_000);

  it("show their progress, and can be stopped", async () => {
    const bot = await addBot(fixture.service);
    const site = await openSite();
    site.paths.set("/robots.txt", "User-agent: *\nCrawl-delay: 20");
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    await page.button("Add a website").click();
    await page.field("Address").fill(site.origin);
    await page.tab.getByRole("dialog").getByRole("button", { name: "Add a website" }).click();
    const row = page.tab.getByRole("list", { name: "Websites" });
    await row.getByRole("progressbar").waitFor();
    await page.button("Stop").click();
    await eventually(() => row.innerText()).toContain("Stopped");
    expect(await row.getByRole("progressbar").count()).toBe(0);
    expect(page.problems).toEqual([]);
  });
});
