import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { queryRows } from "../system/database.ts";
import { addBot, addConversation } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("console", (fixture) => {
  it("lets a newcomer sign in with one click, change the colour, add a document and get an answer from it", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signInWithClick();
    await page.tab.getByRole("link", { name: new RegExp(bot) }).click();
    const launcher = page.preview.locator("parley-widget .launcher");
    const launcherColor = () => launcher.evaluate((element) => getComputedStyle(element).backgroundColor);
    await eventually(launcherColor).toBe("rgb(180, 84, 26)");
    await page.field("Colour").fill("#0a7d45");
    await eventually(launcherColor).toBe("rgb(10, 125, 69)");
    await page.button("Save").click();
    await eventually(() => page.announcement.innerText()).toContain("Saved");
    const { bot: stored } = await fixture.service.admin.bots.getBot({ workspaceId: CONSOLE_WORKSPACE, slug: bot });
    expect(stored?.display?.primaryColor).toBe("#0a7d45");

    await page.goto(`/knowledge?bot=${bot}`);
    await page.dropFile("opening.md", "# Opening hours\n\nThe bakery opens at six in the morning.");
    await page.tab.getByText("Added", { exact: true }).waitFor();
    await page.tab.getByRole("button", { name: "Remove opening.md" }).waitFor();
    const { sources } = await fixture.service.admin.knowledge.listSources({
      workspaceId: CONSOLE_WORKSPACE,
      botSlug: bot,
    });
    expect(sources.map(({ name }) => name)).toContain("opening.md");
    await page.preview.locator("textarea").fill("When does the bakery open?");
    const request = page.tab.waitForRequest("**/api/chat/playground/");
    await page.preview.locator("textarea").press("Enter");
    // Without this key, a retry after a lost connection would store a second message.
    expect((await request).headers()["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/);
    await page.preview.locator(".assistant .rating").first().waitFor();
    expect(page.problems).toEqual([]);
  });

  it("shows the first character of each bot's name", async () => {
    const [dough, croissant] = [await addBot(fixture.service, "dough"), await addBot(fixture.service, "🥐 Bakery")];
    const { page } = await openConsole(fixture);
    await page.signIn();
    const mark = (slug: string) => page.tab.locator(".bot-card").filter({ hasText: slug }).locator(".bot-mark");
    expect(await mark(dough).textContent()).toBe("D");
    expect(await mark(croissant).textContent()).toBe("🥐");
  });

  it("explains why a document or page cannot be added", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    await page.dropFile("table.xlsx", "x");
    await page.tab.getByText("Only .txt, .md, .html and .pdf files can be read.", { exact: true }).waitFor();
    await page.dropFile("broken.pdf", "not a PDF");
    await page.tab
      .getByText("The document could not be read. It may be damaged or protected.", { exact: true })
      .waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.field("Address of a page").fill("http://127.0.0.1:1/");
    await page.button("Add page").click();
    await eventually(() => page.tab.locator(".form-error").innerText()).toMatch(/address|URL/);
  });

  it("creates a key with the HTML to embed, and revokes it, with the keyboard alone", async () => {
    await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.goto("/keys");
    await page.heading("Sign in to Parley").waitFor();
    await page.tabTo("Sign in");
    await keyboard.press("Enter");
    await page.heading("Keys").waitFor();
    await eventually(() => page.button("New key").isEnabled()).toBe(true);
    await page.tabTo("New key");
    await keyboard.press("Enter");
    await page.tabTo("Domains");
    const domain = `${randomUUID()}.example`;
    await keyboard.type(domain);
    await page.tabTo("Create key");
    await keyboard.press("Enter");
    const dialog = page.tab.getByRole("dialog", { name: "Put the bot on your site" });
    await dialog.getByText(`Works on ${domain}`).waitFor();
    expect(await dialog.innerText()).toMatch(
      /<script async\s+src="http.*\/widget\.js"\s+data-public-key="svc_pk_\w+"><\/script>/,
    );
    await keyboard.press("Escape");
    // A closing dialog moves the focus.
    await dialog.waitFor({ state: "hidden" });
    const row = page.tab.getByRole("listitem").filter({ hasText: domain });
    await row.getByRole("button", { name: /Revoke/ }).focus();
    await keyboard.press("Enter");
    await page.tabTo("Revoke");
    await keyboard.press("Enter");
    await row.getByText(/^Revoked /).waitFor();
    expect(page.problems).toEqual([]);
  });

  it("tries a text with the saved rules and an unsaved one, with the keyboard alone", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/moderation?bot=${bot}`, "Moderation");
    const matches = page.tab.getByRole("list", { name: "Rules that match" });
    await page.field("Text to try").waitFor();
    await page.tabTo("Text to try");
    await keyboard.type("A REFUND for bread");
    await page.tabTo("Try the text");
    await keyboard.press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("1 rule matches.");
    expect(await matches.innerText()).toBe("refund\nBlocks it as a visitor's message");
    await page.button("New rule").focus();
    await keyboard.press("Enter");
    await page.tabTo("Pattern");
    await keyboard.type("bre.d");
    await page.tabTo("Applies to");
    await keyboard.press("End");
    await page.tabTo("Text to try");
    await keyboard.type("bread, no refund");
    await page.tabTo("Try the text");
    await keyboard.press("Enter");
    await eventually(() => matches.innerText()).toBe(
      "refund\nBlocks it as a visitor's message\nbre.d\nBlocks it as a visitor's message and as the bot's answer\nNot saved",
    );
    await page.field("Pattern").fill(".{0,200}");
    await page.tabTo("Try the text");
    await keyboard.press("Enter");
    await page.tab.getByRole("dialog").getByRole("alert").waitFor();
    expect(await page.tab.getByRole("dialog").getByRole("alert").innerText()).toContain("The pattern is too large");
    const { patterns } = await fixture.service.admin.moderation.listPatterns({
      workspaceId: CONSOLE_WORKSPACE,
      botSlug: bot,
    });
    expect(patterns).toHaveLength(1);
    expect(page.problems).toEqual([]);
  });

  it("shows the day of a key's last use", async () => {
    const bot = await addBot(fixture.service);
    await addConversation(fixture.service, bot);
    const { page } = await openConsole(fixture);
    const today = new Intl.DateTimeFormat("en-US", { dateStyle: "medium", timeZone: "UTC" }).format(new Date());
    const usedKeys = async () => {
      const { keys } = await fixture.service.admin.keys.listKeys({ workspaceId: CONSOLE_WORKSPACE });
      return keys.filter(({ botSlug, lastUsedOn }) => botSlug === bot && lastUsedOn !== "").length;
    };
    await expect.poll(usedKeys, { timeout: 40_000, interval: 500 }).toBe(1);
    await page.signIn("/keys", "Keys");
    await page.tab.getByText(`last used ${today}`).first().waitFor();
    await page.tab.getByText("no use recorded").first().waitFor();
    expect(page.problems).toEqual([]);
  });

  it("describes days without replies", async () => {
    const { page } = await openConsole(fixture);
    await page.replaceResponse("GetStatistics", { status: 200, body: {} });
    await page.signIn("/overview", "Overview");
    await page.tab.getByRole("img", { name: "No messages in 30 days", exact: true }).waitFor();
    expect(await page.tab.locator(".chart-label").innerText()).toBe("0");
    expect(page.problems).toEqual([]);
  });

  it("shows the usage by bot and month with its thresholds, and downloads it", async () => {
    const bot = await addBot(fixture.service);
    await addConversation(fixture.service, bot);
    const { page } = await openConsole(fixture);
    const readCountedReplies = async () => {
      // A worker counts the replies every minute. This makes its next run due.
      await queryRows(
        fixture.service.system.databaseUrl,
        "UPDATE conversation.task_leases SET due_at = now() WHERE task = 'count_bot_replies'",
      );
      const { usage } = await fixture.service.admin.turns.listUsageByBot({ workspaceId: CONSOLE_WORKSPACE });
      return usage.find(({ botSlug }) => botSlug === bot)?.messages;
    };
    await expect.poll(readCountedReplies, { timeout: 90_000, interval: 500 }).toBe(1);
    await page.signIn("/usage", "Usage");
    expect(await page.tab.getByRole("row", { name: new RegExp(bot) }).innerText()).toContain("1");
    const thresholds = page.tab.getByRole("list", { name: "Warning thresholds" });
    expect(await thresholds.innerText()).toMatch(/^80 % of the quota: [\d,]+ messages\n[\d,]+ left until then\n100 %/);
    const [download] = await Promise.all([
      page.tab.waitForEvent("download"),
      page.tab.getByRole("link", { name: "Download CSV" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("usage.csv");
    const [header, ...rows] = (await readFile(await download.path(), "utf8")).trimEnd().split("\r\n");
    expect(header).toBe("month,bot,bot_name,messages");
    expect(rows).toContain(`${new Date().toISOString().slice(0, 7)},${bot},Bakery guide,1`);
    await page.field("Month").selectOption({ index: 5 });
    await page.tab.getByText("No bot answered in this month.").waitFor();
    expect(page.problems).toEqual([]);
  }, 150_000);

  it("shows a panel's field beside its label, whichever screen is opened first", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    /** Returns the distance from the end of the label to the start of its field. Negative if they are below each other. */
    const distancePx = async (label: string) => {
      const text = await page.tab.locator("label", { hasText: label }).boundingBox();
      const field = await page.field(label).boundingBox();
      return (field?.x ?? 0) - (text?.x ?? 0) - (text?.width ?? 0);
    };
    await page.signIn("/usage", "Usage");
    await page.field("Month").waitFor();
    expect(await distancePx("Month")).toBeGreaterThan(0);
    await page.goto(`/questions?bot=${bot}`);
    await page.field("Period").waitFor();
    expect(await distancePx("Period")).toBeGreaterThan(0);
  });

  it("shows the tools that the operator approved, and lets an owner remove one", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/tools?bot=${bot}`, "Tools");
    const row = page.tab.getByRole("listitem").filter({ hasText: "look_up_order" });
    expect(await row.innerText()).toMatch(/Approved by the operator\nGET https:\/\/bakery\.example\/orders\n/);
    await page.button("Remove look_up_order").focus();
    await page.tab.keyboard.press("Enter");
    await page.tabTo("Remove");
    await page.tab.keyboard.press("Enter");
    await page.tab.getByText("No tool yet").waitFor();
    expect(page.problems).toEqual([]);
  });

  it("lets an owner talk to a bot in the playground and then read what was said", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/playground?bot=${bot}`, "Playground");
    await page.preview.locator("textarea").fill("When is the delivery of bread?");
    await page.preview.locator("textarea").press("Enter");
    await page.preview.locator(".assistant .rating").first().waitFor();
    await page.tab.getByRole("link", { name: "Read what was said here" }).click();
    await page.tab.getByRole("list", { name: "Conversations" }).getByRole("link").click();
    await page.tab.getByText("You asked: When is the delivery of bread?").waitFor();
    expect(page.problems).toEqual([]);
  });

  it("continues a reply when the owner returns to a bot's playground, and does not show it in another bot's", async () => {
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
    const { sessions } = await fixture.service.admin.sessions.listSessions({
      workspaceId: CONSOLE_WORKSPACE,
      limit: 1_000,
    });
    expect(sessions.filter(({ botSlug }) => [bot, other].includes(botSlug))).toMatchObject([{ botSlug: bot }]);
    expect(page.problems).toEqual([]);
  });

  it("shows an error with a retry button while a service is unavailable, and the screen once it is back", async () => {
    await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    const unavailable = { responses: [{ status: 503, code: "unavailable", body: { code: "unavailable" } }] };
    await page.tab.route("**/api/batch", (route) => route.fulfill({ json: unavailable }));
    await page.signIn("/keys", "Keys");
    await page.tab.getByText("The service is not available right now.").first().waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tab.unroute("**/api/batch");
    await page.button("Try again").click();
    await page.tab.getByText("The service is not available right now.").first().waitFor({ state: "hidden" });
    // The bots, which were unavailable too, are loaded with the keys.
    await eventually(() => page.button("New key").isEnabled()).toBe(true);
  });

  it("names in the audit log what the owner and the operator changed", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/bots/${bot}`, "Bakery guide");
    await page.field("Name").fill("Baker");
    await page.button("Save").click();
    await eventually(() => page.announcement.innerText()).toContain("Saved");
    await page.openScreen("Audit log");
    const rows = page.tab.getByRole("list", { name: "Changes" }).getByRole("listitem");
    const changed = rows.filter({ hasText: `Changed the bot ${bot}` });
    expect(await changed.innerText()).toMatch(/^Changed the bot \S+\nname\ndemo-owner · /);
    const created = rows.filter({ hasText: `Created the bot ${bot}` });
    expect(await created.innerText()).toContain("Operator · ");
    expect(page.problems).toEqual([]);
  });

  it("signs out, and asks for a sign-in before it shows a screen again", async () => {
    const { page } = await openConsole(fixture);
    await page.signIn();
    await page.tab.getByRole("button", { name: /Demo owner/ }).click();
    await page.tab.getByRole("menuitem", { name: "Sign out" }).click();
    await page.tab.getByText("You are signed out.").waitFor();
    await page.goto("/usage");
    await page.heading("Sign in to Parley").waitFor();
    await page.tab.getByRole("link", { name: "Sign in" }).click();
    await page.heading("Usage").waitFor();
    expect(page.problems).toEqual([]);
  });

  it("keeps the chosen theme", async () => {
    const { page } = await openConsole(fixture, { colorScheme: "light" });
    await page.signIn();
    await page.tab.getByRole("button", { name: /Demo owner/ }).click();
    await page.tab.getByRole("menuitemradio", { name: "Dark" }).click();
    const background = () => page.tab.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    await eventually(background).toBe("rgb(15, 17, 21)");
    await page.goto("/keys");
    await page.heading("Keys").waitFor();
    expect(await background()).toBe("rgb(15, 17, 21)");
  });

  it("shows the preview in the theme of the console, also after a change", async () => {
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
