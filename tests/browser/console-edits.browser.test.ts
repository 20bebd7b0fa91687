import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot, addConversation } from "./console-bot.ts";
import { ConsolePage, openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("edits and exports in the console", (fixture) => {
  const readBot = async (slug: string) =>
    (await fixture.service.admin.bots.getBot({ workspaceId: CONSOLE_WORKSPACE, slug })).bot?.display;
  const nameOf = async (slug: string) => (await readBot(slug))?.name ?? "";

  it("changes the domains of a key, with the keyboard alone", async () => {
    const botSlug = await addBot(fixture.service);
    const [domain, added] = [`${randomUUID()}.example`, `${randomUUID()}.example`];
    const key = { workspaceId: CONSOLE_WORKSPACE, botSlug, domains: [domain] };
    const created = await fixture.service.admin.keys.createKey(key);
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn("/keys", "Keys");
    const row = page.tab.getByRole("listitem").filter({ hasText: domain });
    await row.waitFor();
    await page.tabTo(row.getByRole("button", { name: /^Edit/ }));
    await keyboard.press("Enter");
    const dialog = page.tab.getByRole("dialog", { name: "Change the key" });
    await dialog.waitFor();
    await page.tabTo("Domains");
    await keyboard.press("Control+End");
    await keyboard.type("\n*");
    await page.tabTo("Save key");
    await keyboard.press("Enter");
    await dialog.getByRole("alert").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tabTo("Domains");
    await page.retype(`${domain}\n${added}`);
    await page.tabTo("Name of the key");
    await keyboard.type("Main site");
    await page.tabTo("Save key");
    await keyboard.press("Enter");
    await dialog.waitFor({ state: "hidden" });
    await row.getByText(`${domain}, ${added}`).waitFor();
    await row.getByText("Main site", { exact: true }).waitFor();
    const { keys } = await fixture.service.admin.keys.listKeys(key);
    const stored = keys.find(({ publicKey }) => publicKey === created.key?.publicKey);
    expect(stored).toMatchObject({ allowedDomains: [domain, added], name: "Main site" });
    expect(page.problems).toEqual([]);
  });

  it("offers the plan's models in a menu, and asks to try a model that the plan does not name", async () => {
    const slug = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/bots/${slug}`, await nameOf(slug));
    await page.field("Model").fill("openai:unknown");
    await page.button("Save").click();
    await eventually(() => page.announcement.innerText()).toContain("ask the bot something to see whether it answers");

    await page.replaceResponses({ body: { models: ["openai:small"] } }, "ListModels");
    await page.tab.reload();
    const options = () => page.field("Model").locator("option").allInnerTexts();
    await eventually(options).toEqual(["Default model", "openai:small", "openai:unknown"]);
    await page.field("Model").selectOption("Default model");
    await page.button("Save").click();
    await eventually(() => page.announcement.innerText()).toContain("Visitors see the changes");
    const { bot } = await fixture.service.admin.bots.getBot({ workspaceId: CONSOLE_WORKSPACE, slug });
    expect(bot?.model).toBe("");
    expect(page.problems).toEqual([]);
  });

  it("adds, shows, stores and removes a bot's texts in another language", async () => {
    const slug = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/bots/${slug}`, await nameOf(slug));
    await page.field("Language").selectOption("European Portuguese");
    await page.button("Add texts").click();
    await eventually(() => page.tab.locator("textarea:focus").getAttribute("lang")).toBe("pt-pt");
    await page.tab.keyboard.type("Olá!");
    await page.field("Suggested questions (European Portuguese)").fill("Onde fica a loja?\n\nE o horário?");
    await page.field("Text in place of a blocked answer (European Portuguese)").fill("Não posso ajudar.");
    const words = page.field("Change a text of the widget (European Portuguese)");
    await words.selectOption("Stop");
    await words.selectOption("Send");
    await eventually(() => page.tab.locator("input:focus").getAttribute("data-word")).toBe("send");
    await page.tab.keyboard.type("Vai");
    expect(await page.findAxeViolations()).toEqual([]);
    await page.button("Save").click();
    await page.tab.getByText("All changes are saved.").waitFor();
    const texts = {
      welcomeMessage: "Olá!",
      quickReplies: ["Onde fica a loja?", "E o horário?"],
      words: { send: "Vai" },
      fallback: "Não posso ajudar.",
    };
    expect((await readBot(slug))?.texts).toMatchObject({ "pt-pt": texts });
    await page.button("Remove European Portuguese").click();
    expect(await page.tab.locator("select:focus").count()).toBe(1);
    await page.button("Save").click();
    await page.tab.getByText("All changes are saved.").waitFor();
    expect((await readBot(slug))?.texts).toEqual({});
    expect(page.problems).toEqual([]);
  });

  it("keeps the screen and what was typed if later code is missing, as after an upgrade", async () => {
    const slug = await addBot(fixture.service);
    const { page, context } = await openConsole(fixture);
    const laterCode = /\/assets\/(?:user-menu|drawer|sign-in-dialog)-/;
    await page.tab.route(laterCode, (route) => route.fulfill({ status: 404 }));
    await page.signIn(`/bots/${slug}`, await nameOf(slug));
    await page.field("Welcome message").fill("Typed after an upgrade.");
    const failure = page.tab.getByRole("alert").filter({ hasText: "A part of the console could not be loaded." });
    await failure.waitFor();
    await failure.getByRole("button", { name: "Reload the page" }).waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture("code-missing");
    await context.clearCookies();
    await page.button("Save").click();
    const notice = page.tab.getByRole("alert").filter({ hasText: "Your session has ended" });
    await notice.waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture("code-missing-session");
    const opened = context.waitForEvent("page");
    await notice.getByRole("button", { name: "Sign in" }).press("Space");
    const window = await opened;
    if (!window.isClosed()) await window.waitForEvent("close");
    await eventually(() => page.announcement.innerText()).toContain("Saved");
    expect((await readBot(slug))?.welcomeMessage).toBe("Typed after an upgrade.");
    await page.tab.setViewportSize({ width: 375, height: 667 });
    await page.button("Open the menu").click();
    await failure.filter({ visible: true }).first().waitFor();
    expect(await page.scrollsSideways()).toBe(false);
    await page.savePicture("code-missing-phone");
    await page.tab.unroute(laterCode);
    await failure.filter({ visible: true }).getByRole("button", { name: "Try again" }).click();
    await page.tab.getByRole("dialog", { name: "Menu" }).waitFor();
    // Chromium reports each missing file as an error.
    expect(page.problems.filter((text) => !/status of 404|dynamically imported module/.test(text))).toEqual([]);
  });

  it("keeps the navigation if the code of a screen is missing", async () => {
    const { page } = await openConsole(fixture);
    await page.signIn("/keys", "Keys");
    await page.tab.route(/\/assets\/usage-/, (route) => route.fulfill({ status: 404 }));
    await page.tab.getByRole("link", { name: "Usage", exact: true }).click();
    await page.heading("This page could not be shown").waitFor();
    await page.button("Reload the page").waitFor();
    await page.openScreen("Keys");
  });

  it("shows a wrong link of a consent whose text was removed, because it blocks saving", async () => {
    const slug = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/bots/${slug}`, await nameOf(slug));
    const text = page.field("Text that visitors agree to");
    await text.fill("We store this chat.");
    await page.field("Link to more about it").fill("shop.example");
    await text.fill("");
    await page.button("Save").click();
    await page.tab.getByText("Write the whole address, beginning with https://.").waitFor();
    await eventually(() => page.focusedName()).toBe("Link to more about it");
    await page.field("Link to more about it").fill("");
    await eventually(() => page.field("Link to more about it").count()).toBe(0);
    await page.tab.getByText("All changes are saved.").waitFor();
    expect(page.problems).toEqual([]);
  });

  it("keeps what was typed when the session ends, and saves it after a sign-in in another window", async () => {
    const slug = await addBot(fixture.service);
    const { page, context } = await openConsole(fixture);
    await page.signIn(`/bots/${slug}`, await nameOf(slug));
    await page.field("Welcome message").fill("Written before the session ended.");
    await context.clearCookies();
    await page.button("Save").click();
    const dialog = page.tab.getByRole("alertdialog", { name: "Your session has ended" });
    await dialog.waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    const opened = context.waitForEvent("page");
    await page.tabTo("Sign in");
    await page.tab.keyboard.press("Space");
    const window = await opened;
    if (!window.isClosed()) await window.waitForEvent("close");
    await dialog.waitFor({ state: "hidden" });
    await eventually(() => page.announcement.innerText()).toContain("Saved");
    expect((await readBot(slug))?.welcomeMessage).toBe("Written before the session ended.");
    expect(page.problems).toEqual([]);
  });

  it("says that the browser is offline, and saves when the connection is back", async () => {
    const slug = await addBot(fixture.service);
    const { page, context } = await openConsole(fixture);
    await page.signIn(`/bots/${slug}`, await nameOf(slug));
    await page.field("Welcome message").fill("Written offline.");
    await context.setOffline(true);
    await page.button("Save").click();
    await page.tab.getByText(/^You are offline\. What you save is sent when the connection is back/).waitFor();
    await context.setOffline(false);
    await eventually(() => page.announcement.innerText()).toContain("Saved");
    await page.tab.getByText(/^You are offline/).waitFor({ state: "hidden" });
    expect((await readBot(slug))?.welcomeMessage).toBe("Written offline.");
  });

  it("moves the focus into the first field of a dialog and into an added field, and uses the bot of the editor on other screens", async () => {
    await addBot(fixture.service, "Another guide");
    const slug = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    const focusedLabel = () =>
      page.tab.evaluate(() => {
        const input = document.activeElement as HTMLInputElement | null;
        return input?.labels?.[0]?.textContent ?? input?.ariaLabel;
      });
    await page.signIn("/bots", "Bots");
    await page.button("New bot").click();
    await eventually(focusedLabel).toBe("Name");
    await page.tab.keyboard.press("Escape");
    await page.goto(`/bots/${slug}`);
    await page.button("Add a question").click();
    await eventually(focusedLabel).toBe("Suggested question 3");
    await page.button("Discard").click();
    await page.openScreen("Knowledge");
    expect(new URL(page.tab.url()).search).toBe("");
    expect(await page.field("Bot").inputValue()).toBe(slug);
    await page.openScreen("Keys");
    await eventually(() => page.button("New key").isEnabled()).toBe(true);
    await page.button("New key").click();
    expect(await page.tab.getByRole("dialog").getByLabel("Bot").inputValue()).toBe(slug);
    expect(page.problems).toEqual([]);
  });

  it("saves a bot's time zone, which can be chosen with the keyboard alone, and its limit of messages", async () => {
    const slug = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/bots/${slug}`, await nameOf(slug));
    expect(await page.field("Time zone").inputValue()).toBe("UTC");
    await page.tabTo("Time zone");
    await page.tab.keyboard.type("Europe/Berlin");
    await page.field("Messages of one visitor a day").fill("20");
    await page.button("Save").click();
    await eventually(() => page.announcement.innerText()).toContain("Saved");
    const { bot } = await fixture.service.admin.bots.getBot({ workspaceId: CONSOLE_WORKSPACE, slug });
    expect(bot).toMatchObject({ timeZone: "Europe/Berlin", visitorMessagesPerDay: 20 });
    expect(await page.findAxeViolations()).toEqual([]);
    expect(page.problems).toEqual([]);
  });

  it("saves the settings of a bot's model, and shows that the built-in model has none", async () => {
    const slug = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/bots/${slug}`, await nameOf(slug));
    const read = async () => (await fixture.service.admin.bots.getBot({ workspaceId: CONSOLE_WORKSPACE, slug })).bot;
    await fixture.service.admin.bots.updateBot({
      workspaceId: CONSOLE_WORKSPACE,
      slug,
      changes: { model: "openai:m" },
    });
    await page.goto(`/bots/${slug}`);
    await page.field("Temperature").fill("0.25");
    await page.field("Longest answer, in tokens").fill("600");
    await page.field("Effort of reasoning").selectOption("Low");
    await page.button("Save").click();
    await eventually(() => page.announcement.innerText()).toContain("Saved");
    expect(await read()).toMatchObject({ temperature: 0.25, maxOutputTokens: 600, reasoningEffort: "low" });
    await page.field("Temperature").fill("");
    await page.button("Save").click();
    await eventually(async () => (await read())?.temperature).toBeUndefined();
    await fixture.service.admin.bots.updateBot({
      workspaceId: CONSOLE_WORKSPACE,
      slug,
      changes: { model: "builtin:extractive", maxOutputTokens: 0, reasoningEffort: "" },
    });
    await page.goto(`/bots/${slug}`);
    await page.field("Top P").fill("0.5");
    await page.button("Save").click();
    await eventually(() => page.tab.getByText("builtin:extractive has no settings").count()).toBe(1);
    expect(await page.findAxeViolations()).toEqual([]);
  });

  it("stores what visitors must agree to, with a translation, and shows a conversation's consent", async () => {
    const slug = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/bots/${slug}`, await nameOf(slug));
    const text = "Text that visitors agree to";
    expect(await page.field("Version of the text").count()).toBe(0);
    await page.field(text).fill("We store this chat.");
    await page.field("Version of the text").fill("2026-12");
    await page.field("Link to more about it").fill("http://bakery.example/privacy");
    await page.button("Save").click();
    await page.tab.getByText("Write the whole address, beginning with https://.").waitFor();
    await page.field("Link to more about it").fill("https://bakery.example/privacy");
    await page.field("Language").selectOption("German");
    await page.button("Add texts").click();
    await page.field(`${text} (German)`).fill("Wir speichern diesen Chat.");
    expect(await page.findAxeViolations()).toEqual([]);
    await page.button("Save").click();
    await eventually(() => page.announcement.innerText()).toContain("Saved");
    const { bot } = await fixture.service.admin.bots.getBot({ workspaceId: CONSOLE_WORKSPACE, slug });
    expect(bot).toMatchObject({
      consentText: "We store this chat.",
      consentVersion: "2026-12",
      consentLink: "https://bakery.example/privacy",
      display: { texts: { de: { consentText: "Wir speichern diesen Chat." } } },
    });
    const visitor = await addConversation(fixture.service, slug, { consentVersion: "2026-12" });
    await page.goto(`/conversations?bot=${slug}`);
    await page.tab.getByRole("link", { name: new RegExp(visitor) }).click();
    await page.heading(visitor).waitFor();
    await page.tab.getByText(/Version \u20682026-12\u2069, /).waitFor();
    expect(page.problems).toEqual([]);
  });

  it("asks before a save replaces what another window has saved since", async () => {
    const slug = await addBot(fixture.service);
    const { page, context } = await openConsole(fixture);
    await page.signIn(`/bots/${slug}`, await nameOf(slug));
    await page.field("Welcome message").fill("Mine.");
    await page.field("Name").fill("Mine too");
    const other = await ConsolePage.open(await context.newPage(), fixture.service.system.consoleUrl);
    await other.goto(`/bots/${slug}`);
    await other.field("Welcome message").fill("Theirs.");
    await other.button("Save").click();
    await eventually(() => other.announcement.innerText()).toContain("Saved");
    await page.button("Save").click();
    const dialog = page.tab.getByRole("alertdialog", { name: "Replace newer changes?" });
    await dialog.getByText("has changed since you began: Welcome message.").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.button("Cancel").click();
    expect(await page.field("Welcome message").inputValue()).toBe("Mine.");
    expect((await readBot(slug))?.welcomeMessage).toBe("Theirs.");
    await page.button("Save").click();
    await page.button("Replace").click();
    await eventually(() => page.announcement.innerText()).toContain("Saved");
    expect(await readBot(slug)).toMatchObject({ welcomeMessage: "Mine.", name: "Mine too" });
    expect(page.problems).toEqual([]);
  });

  it("exports with every filter of the list except the search, and the menu explains that the days refer to a conversation's start and that the search does not apply", async () => {
    const bot = await addBot(fixture.service);
    const visitor = await addConversation(fixture.service, bot);
    const { page } = await openConsole(fixture);
    const filters = `bot=${bot}&visitor=${visitor}&rating=up&review=bad&source=widget&from=2026-01-02&q=bread`;
    await page.signInWithClick(`/conversations?${filters}`, "Conversations");
    await page.button("Export").click();
    await page.tab.getByText(/started on these days.* The search does not apply to the export\./).waitFor();
    const [download] = await Promise.all([
      page.tab.waitForEvent("download"),
      page.tab.getByRole("menuitem", { name: /^NDJSON/ }).click(),
    ]);
    const { since, ...query } = Object.fromEntries(new URL(download.url()).searchParams);
    expect(query).toEqual({ bot_slug: bot, visitor_id: visitor, rating: "up", review: "bad", source: "widget" });
    expect(since).toMatch(/^2026-01-0[123]T/);
    expect(page.problems).toEqual([]);
  });
});
