import { readFile } from "node:fs/promises";
import { queryRows } from "@parley/test-support";
import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot, addConversation } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("console", (fixture) => {
  it("shows the first character of each bot's name in upper case", async () => {
    const [dough, croissant] = [await addBot(fixture.service, "dough"), await addBot(fixture.service, "🥐 Bakery")];
    const { page } = await openConsole(fixture);
    await page.signIn("/bots", "Bots");
    const mark = (slug: string) => page.tab.locator(".bot-card").filter({ hasText: slug }).locator(".bot-mark");
    expect(await mark(dough).textContent()).toBe("D");
    expect(await mark(croissant).textContent()).toBe("🥐");
  });

  it("explains why a document or page cannot be added", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    await page.dropFile("table.ods", "x");
    await page.tab.getByText(/^Only \.txt, .+ files can be read\.$/).waitFor();
    await page.dropFile("broken.pdf", "not a PDF");
    await page.tab.getByText(/^The document could not be read\. It may be damaged or protected\./).waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.field("Address of a page").fill("http://127.0.0.1:1/");
    await page.button("Add page").click();
    await eventually(() => page.tab.locator(".form-error").innerText()).toMatch(/address|URL/);
  });

  it("shows the day of a key's last use", async () => {
    const bot = await addBot(fixture.service);
    await addConversation(fixture.service, bot);
    const { page } = await openConsole(fixture);
    const readDaysOfUse = async () => {
      const { keys } = await fixture.service.admin.keys.listKeys({ workspaceId: CONSOLE_WORKSPACE });
      return keys.filter(({ botSlug }) => botSlug === bot).flatMap(({ lastUsedOn }) => lastUsedOn || []);
    };
    await expect.poll(readDaysOfUse, { timeout: 40_000, interval: 500 }).toHaveLength(1);
    const lastUse = new Date(`${await readDaysOfUse()}T00:00:00Z`);
    const day = new Intl.DateTimeFormat("en-US", { dateStyle: "medium", timeZone: "UTC" }).format(lastUse);
    await page.signIn("/keys", "Keys");
    await page.tab.getByText(`last used ${day}`).first().waitFor();
    await page.tab.getByText("no use recorded").first().waitFor();
    expect(page.problems).toEqual([]);
  });

  it("shows the usage by bot and month and the warning thresholds, and downloads the usage", async () => {
    const bot = await addBot(fixture.service);
    await addConversation(fixture.service, bot);
    const { page } = await openConsole(fixture);
    const readBotUsage = async () => {
      // A worker counts the replies every minute. The UPDATE makes the worker's next run due.
      await queryRows(
        fixture.service.system.databaseUrl,
        "UPDATE conversation.task_leases SET due_at = now() WHERE task = 'count_bot_replies'",
      );
      const { usage } = await fixture.service.admin.turns.listUsageByBot({ workspaceId: CONSOLE_WORKSPACE });
      return usage.find(({ botSlug }) => botSlug === bot);
    };
    await expect.poll(readBotUsage, { timeout: 90_000, interval: 500 }).toMatchObject({ messages: 1 });
    await page.signIn("/usage", "Usage");
    const figures = page.tab.getByRole("row", { name: new RegExp(bot) }).getByRole("cell");
    await eventually(() => figures.allInnerTexts()).toEqual(["1"]);
    const thresholds = page.tab.getByRole("list", { name: "Warning thresholds" });
    expect(await thresholds.innerText()).toMatch(/^50 % of the quota: [\d,]+ messages\n[\d,]+ left until then\n80 %/);
    const [download] = await Promise.all([
      page.tab.waitForEvent("download"),
      page.tab.getByRole("link", { name: "Download CSV" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("usage.csv");
    const [header, ...rows] = (await readFile(await download.path(), "utf8")).trimEnd().split("\r\n");
    expect(header).toBe("\uFEFFmonth,bot,bot_name,messages");
    expect(rows).toContain(`${(await readBotUsage())?.month},${bot},Bakery guide,1`);
    await page.field("Month").selectOption({ index: 5 });
    await page.tab.getByText("No bot answered in this month.").waitFor();
    expect(page.problems).toEqual([]);
  }, 150_000);

  it.each(["Usage", "Unanswered questions"])(
    "shows the fields of Usage and Unanswered questions beside their labels if %s is opened first",
    async (first) => {
      const bot = await addBot(fixture.service);
      const { page } = await openConsole(fixture);
      const usage = { path: "/usage", heading: "Usage", label: "Month" };
      const questions = { path: `/questions?bot=${bot}`, heading: "Unanswered questions", label: "Period" };
      const [firstScreen, secondScreen] = first === "Usage" ? [usage, questions] : [questions, usage];
      /** Returns the distance from the end of the label to the start of its field. Negative if the field is below the label. */
      const distancePx = async (label: string) => {
        const text = await page.tab.locator("label", { hasText: label }).boundingBox();
        const field = await page.field(label).boundingBox();
        return (field?.x ?? 0) - (text?.x ?? 0) - (text?.width ?? 0);
      };
      const expectBesideLabel = async (label: string) => {
        await page.field(label).waitFor();
        expect(await distancePx(label)).toBeGreaterThan(0);
      };
      await page.signIn(firstScreen.path, firstScreen.heading);
      await expectBesideLabel(firstScreen.label);
      await page.goto(secondScreen.path);
      await expectBesideLabel(secondScreen.label);
    },
  );

  it("continues a reply when the owner returns to a bot's playground, and shows no message in another bot's playground", async () => {
    const [bot, other] = [await addBot(fixture.service), await addBot(fixture.service)];
    const { page } = await openConsole(fixture);
    await page.signIn(`/playground?bot=${bot}`, "Playground");
    await page.preview.locator("textarea").fill("slow 100");
    await page.preview.locator("textarea").press("Enter");
    const messages = page.preview.locator(".messages > .message .bubble");
    await eventually(() => messages.allInnerTexts()).toEqual(["slow 100", expect.stringContaining("word5")]);
    await page.goto(`/playground?bot=${other}`);
    await page.preview.getByText("Hello! Ask me about").waitFor();
    expect(await messages.count()).toBe(0);
    await page.goto(`/playground?bot=${bot}`);
    await page.preview.locator(".assistant .rating").first().waitFor();
    expect(await messages.allInnerTexts()).toEqual(["slow 100", expect.stringMatching(/^word1 .* word100$/)]);
    const listSessions = async (botSlug: string) =>
      (await fixture.service.admin.sessions.listSessions({ workspaceId: CONSOLE_WORKSPACE, botSlug })).sessions;
    expect([await listSessions(bot), await listSessions(other)]).toMatchObject([[{ botSlug: bot }], []]);
    expect(page.problems).toEqual([]);
  });

  it("shows the preview in the console's theme, also after the theme changes", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture, { colorScheme: "light" });
    await page.signIn(`/bots/${bot}`, "Bakery guide");
    const background = () =>
      page.preview.locator("html").evaluate((element) => getComputedStyle(element).backgroundColor);
    await eventually(background).toBe("rgb(247, 248, 250)");
    await page.tab.getByRole("button", { name: /Demo owner/ }).click();
    await page.tab.getByRole("menuitemradio", { name: "Dark" }).click();
    await eventually(background).toBe("rgb(21, 23, 28)");
    await page.tab.getByRole("button", { name: /Demo owner/ }).click();
    await page.tab.getByRole("menuitemradio", { name: "System" }).click();
    await eventually(background).toBe("rgb(247, 248, 250)");
    await page.tab.emulateMedia({ colorScheme: "dark" });
    await eventually(background).toBe("rgb(21, 23, 28)");
  });
});
