import { startWebsite, webPage } from "@parley/test-support";
import { expect, it, onTestFinished } from "vitest";
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
    const site = await openSite();
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    /** Searches as for a visitor's message. */
    const search = async (question: string) => {
      await page.field("Question").fill(question);
      await keyboard.press("Enter");
    };
    const passages = page.tab.getByRole("list", { name: "Passages found" });
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
    await search("What does the cinnamon snail cost?");
    await eventually(() => passages.innerText()).toContain("3.10 euros");

    site.paths.set("/prices", webPage("Prices", "<p>The cinnamon snail costs 3.40 euros.</p>"));
    site.paths.delete("/broken");
    await page.tabTo("Refresh now");
    await keyboard.press("Enter");
    await eventually(() => row.innerText(), CRAWL_MS).toContain("Up to date");
    await search("How many euros is the cinnamon snail?");
    await eventually(() => passages.innerText()).toContain("3.40 euros");
    expect(await passages.innerText()).not.toContain("3.10 euros");

    await page.tabTo("Change the schedule");
    await keyboard.press("Enter");
    await page.tab.getByRole("dialog", { name: "Change the schedule" }).waitFor();
    await page.field("Time between two refreshes").selectOption({ label: "7 days" });
    await page.tabTo("Save");
    await keyboard.press("Enter");
    await eventually(() => row.innerText()).toContain("7 days");

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
