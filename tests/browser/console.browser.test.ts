import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("console", (fixture) => {
  it("lets a newcomer sign in with one click, change the colour, add a document and get an answer in the preview", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signInWithClick();
    await page.openScreen("Bots");
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
    // Without the idempotency key, a retry after a lost connection would store a second message.
    expect((await request).headers()["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/);
    await page.preview.locator(".assistant .rating").first().waitFor();
    expect(page.problems).toEqual([]);
  });

  it("creates a key, shows the HTML to embed, and revokes the key, with the keyboard alone", async () => {
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
    await dialog.getByText("No chat on your page? Compare its address with these domains").waitFor();
    expect(await dialog.innerText()).toMatch(
      /<script async\s+src="http.*\/widget\.js"\s+data-public-key="svc_pk_\w+"><\/script>/,
    );
    await keyboard.press("Escape");
    // The dialog moves the focus while it closes.
    await dialog.waitFor({ state: "hidden" });
    const row = page.tab.getByRole("listitem").filter({ hasText: domain });
    await page.tabTo(row.getByRole("button", { name: /Revoke/ }));
    await keyboard.press("Enter");
    await page.tabTo("Revoke");
    await keyboard.press("Enter");
    await row.getByText(/^Revoked /).waitFor();
    expect(page.problems).toEqual([]);
  });

  it("tries a text with the saved rules and unsaved words while they are typed, and shows an error for a pattern that is too large, with the keyboard alone", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/moderation?bot=${bot}`, "Moderation");
    const matches = page.tab.getByRole("list", { name: "Rules that match" });
    await page.field("Text to try").waitFor();
    await page.tabTo("Text to try");
    await keyboard.type("A REFUND for bread");
    await eventually(() => matches.innerText()).toBe("refund\nBlocks it as a visitor's message");
    await page.tabTo("New rule");
    await keyboard.press("Enter");
    const dialog = page.tab.getByRole("dialog");
    await dialog.waitFor();
    await keyboard.type("bread\nvoucher");
    await page.tabTo("Applies to");
    await keyboard.press("End");
    await page.tabTo("Text to try");
    await keyboard.type("Bréad, no refund");
    await eventually(() => dialog.getByRole("list").innerText()).toBe(
      "refund\nBlocks it as a visitor's message\nbread, voucher\nBlocks it as a visitor's message and as the bot's answer\nNot saved",
    );
    await page.retype("Breads and vouchers");
    await dialog.getByText("No rule blocks this text.").waitFor();
    await page.tabTo("Kind");
    await keyboard.press("End");
    await page.tabTo("Pattern");
    await keyboard.type(".{0,200}");
    await dialog.getByText("This rule is too large.").waitFor();
    const { patterns } = await fixture.service.admin.moderation.listPatterns({
      workspaceId: CONSOLE_WORKSPACE,
      botSlug: bot,
    });
    expect(patterns).toHaveLength(1);
    expect(page.problems).toEqual([]);
  });

  it("describes the chart when no day has messages", async () => {
    const { page } = await openConsole(fixture);
    await page.replaceResponses({}, "GetStatistics");
    await page.signIn("/overview", "Overview");
    await page.tab.getByRole("img", { name: "No messages in 30 days", exact: true }).waitFor();
    expect(await page.tab.locator(".chart-counts span").allInnerTexts()).toEqual(["1", "0"]);
    expect(page.problems).toEqual([]);
  });

  it("shows how long conversations are kept", async () => {
    const { page } = await openConsole(fixture);
    const usage = { plan: "pro", cap: 5_000, month: "2026-11", resetsAt: "2026-12-01T00:00:00Z" };
    await page.replaceResponses({ body: { usage, retentionMinutes: 30 } }, "ShowUsage");
    await page.signIn("/overview", "Overview");
    await page.tab.getByText("How long conversations are kept after their last message: 30 minutes").waitFor();
    expect(page.problems).toEqual([]);
  });

  it("shows the tools that the operator approved and why the bot does not use a function, and lets an owner remove one", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    const omitted = [{ name: "refund", reason: "parameters must be a JSON object" }];
    const check = { name: "look_up_order", functions: [], omitted, failure: "the tool did not respond in time" };
    await page.replaceResponses({ body: { tools: [check] } }, "CheckTools");
    await page.signIn(`/tools?bot=${bot}`, "Tools");
    const row = page.tab.getByRole("listitem").filter({ hasText: "look_up_order" });
    expect(await row.innerText()).toMatch(/Approved by the operator\nGET https:\/\/bakery\.example\/orders\n/);
    await row.getByText("The bot answers without this tool: the tool did not respond in time").waitFor();
    await row.getByText("The bot does not use refund: parameters must be a JSON object").waitFor();
    await page.tabTo("Remove look_up_order");
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

  it("shows an error with a retry button while a service is unavailable, and shows the screen after a successful retry", async () => {
    await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    const recover = await page.replaceResponses({ status: 503, code: "unavailable", body: { code: "unavailable" } });
    await page.signIn("/keys", "Keys");
    await page.tab.getByText("The service is not available right now.").first().waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await recover();
    await page.button("Try again").click();
    await page.tab.getByText("The service is not available right now.").first().waitFor({ state: "hidden" });
    // The retry also loads the bots, which were unavailable too.
    await eventually(() => page.button("New key").isEnabled()).toBe(true);
  });

  it("shows in the audit log what the owner and the operator changed", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/bots/${bot}`, "Bakery guide");
    // No other bot has this name, so the audit log shows the name without the slug.
    const name = `Baker ${bot}`;
    await page.field("Name").fill(name);
    await page.button("Save").click();
    await eventually(() => page.announcement.innerText()).toContain("Saved");
    await page.openScreen("Audit log");
    const rows = page.tab.getByRole("list", { name: "Changes" }).getByRole("listitem");
    const changed = rows.filter({ hasText: `Changed the bot ${name}` });
    expect(await changed.innerText()).toMatch(/^Changed the bot Baker \S+\nName\ndemo-owner · /);
    const created = rows.filter({ hasText: `Created the bot ${name}` });
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

  it("keeps the chosen theme when another screen is loaded", async () => {
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
});
