import type { BrowserContext, Route } from "playwright-core";
import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE, requestOwnersToken } from "../system/console.ts";
import { addHandoffBot, startVisitor } from "./console-handoff.ts";
import { type ConsolePage, openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

const PHONE = { width: 375, height: 812 };

describeInBrowser("the console's inbox", (fixture) => {
  it("shows a waiting visitor at once, who is taken, answered and given back, with the keyboard alone", async () => {
    const bot = await addHandoffBot(fixture);
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn("/inbox", "Inbox");
    const visitor = await startVisitor(fixture, bot);
    await visitor.say("When do you open?");
    await visitor.askForPerson();
    const row = page.tab.getByRole("link", { name: new RegExp(visitor.id) });
    await row.getByText(/^Waiting for 0:\d\d$/).waitFor();
    await eventually(() => page.tab.title()).toMatch(/^\(\d+\) Inbox · Parley$/);
    await page.savePicture("inbox");
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tabTo(row);
    await keyboard.press("Enter");
    await page.heading(visitor.id).waitFor();
    await page.tab.getByText("When do you open?", { exact: true }).waitFor();
    await page.tabTo("Take");
    await keyboard.press("Enter");
    await page.tab.getByText("You answer", { exact: true }).waitFor();
    await eventually(() => page.focusedName()).toBe("Your answer");

    await keyboard.type("I am **Ada**.");
    await keyboard.press("Shift+Enter");
    await keyboard.type("We open at seven.");
    expect(await page.field("Your answer").inputValue()).toBe("I am **Ada**.\nWe open at seven.");
    await keyboard.press("Enter");
    await page.tab.locator(".markdown strong", { hasText: "Ada" }).waitFor();
    await eventually(() => page.field("Your answer").inputValue()).toBe("");
    expect(await page.focusedName()).toBe("Your answer");
    expect(await visitor.say("Thank you!")).toContain('"finish_reason":"handoff"');
    await page.tab.locator(".bubble.visitor", { hasText: "Thank you!" }).waitFor();
    await eventually(() => page.tab.locator(".transcript-end").innerText()).toBe("New message: Thank you!");
    await page.savePicture("inbox-conversation");
    expect(await page.findAxeViolations()).toEqual([]);

    await page.tabTo("Add a private note", "Shift+Tab");
    await keyboard.press("Enter");
    await eventually(() => page.focusedName()).toBe("Private note");
    await keyboard.type("Asked about opening hours.");
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tabTo("Save note");
    await keyboard.press("Enter");
    const note = page.tab.locator(".note", { hasText: "Asked about opening hours." });
    await note.getByText("Demo owner", { exact: true }).waitFor();
    await eventually(() => page.focusedName()).toBe("Add a private note");
    await page.savePicture("inbox-note");

    await page.tab.reload();
    await note.waitFor();
    await page.tab.locator(".markdown strong", { hasText: "Ada" }).waitFor();
    expect(await bubbles(page)).toEqual(["When do you open?", "I am Ada.\nWe open at seven.", "Thank you!"]);
    await eventually(() => page.focusedName()).toBe("Your answer");
    await page.tabTo("Back to the bot", "Shift+Tab");
    await keyboard.press("Enter");
    await page.tab.getByText("The bot answers", { exact: true }).waitFor();
    expect(await page.field("Your answer").count()).toBe(0);
    expect(await visitor.state()).toMatchObject({ state: "bot", reason: "resolved", agent: { name: "Demo owner" } });
    expect(await visitor.say("When do you close?")).toContain('"finish_reason":"stop"');

    await page.goto("/inbox?show=all");
    await page.heading("Inbox").waitFor();
    await eventually(() => row.count()).toBe(0);
    await page.goto(`/conversations/${visitor.sessionId}`);
    await page.tab.locator(".markdown strong", { hasText: "Ada" }).waitFor();
    await note.waitFor();
    await page.savePicture("conversation-note");
    expect(await page.findAxeViolations()).toEqual([]);
    expect(page.problems).toEqual([]);
  }, 90_000);

  it("gives a conversation that two agents take at once to one of them, and shows the other who has it", async () => {
    const bot = await addHandoffBot(fixture);
    const visitor = await startVisitor(fixture, bot);
    await visitor.say("Hello");
    await visitor.askForPerson();
    const { page, context } = await openConsole(fixture);
    await page.signIn(`/inbox/${visitor.sessionId}`, visitor.id);
    const { consoleUrl } = fixture.service.system;
    const redirect = await context.request.get(`${consoleUrl}/auth/sign-in`, { maxRedirects: 0 });
    const { origin: issuer } = new URL(redirect.headers().location ?? "");
    const token = await requestOwnersToken({ issuer } as Parameters<typeof requestOwnersToken>[0]);
    let other: { agent?: { name: string } } = {};
    const takeFirst = async (route: Route) => {
      const taken = await fetch(`${consoleUrl}/api/conversations/${visitor.sessionId}/handoff/`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        // The token decides who takes it.
        body: JSON.stringify({ action: "take", agent: { id: "mallory", name: "Mallory" } }),
      });
      other = (await taken.json()) as typeof other;
      await route.continue();
    };
    await page.tab.route("**/handoff/", takeFirst, { times: 1 });
    await page.button("Take").click();
    await eventually(() => page.announcement.innerText()).toContain("Somebody else has taken this conversation.");
    expect(other.agent?.name).not.toBe("Mallory");
    await page.tab.getByText(new RegExp(`${other.agent?.name}\\W answers`)).waitFor();
    expect(await page.field("Your answer").count()).toBe(0);
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tab.getByRole("button", { name: /^Take over from/ }).click();
    await page.tab.getByText("You answer", { exact: true }).waitFor();
    await page.field("Your answer").waitFor();
    await page.goto("/inbox?show=mine");
    await page.tab
      .getByRole("link", { name: new RegExp(visitor.id) })
      .getByText("You answer")
      .waitFor();
  }, 60_000);

  it("hands a conversation to a colleague with the keyboard alone, whose inbox shows it at once", async () => {
    const bot = await addHandoffBot(fixture);
    const visitor = await startVisitor(fixture, bot);
    await visitor.say("Hello");
    const { page: colleague, context } = await openConsole(fixture);
    const shown = await fakeNotifications(colleague, context);
    await colleague.signInAs("demo-agent", "/inbox?show=mine");
    await colleague.button("Turn on notifications").click();
    await colleague.button("Turn off notifications").waitFor();
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/inbox/${visitor.sessionId}`, visitor.id);
    await page.button("Take").click();
    await page.field("Your answer").waitFor();
    await page.button("Hand to a colleague").waitFor();
    await page.tabTo("Hand to a colleague", "Shift+Tab");
    await keyboard.press("Enter");
    const item = page.tab.getByRole("menuitem", { name: /Demo agent/ });
    await item.getByText("Inbox is open").waitFor();
    await page.savePicture("hand-over");
    expect(await page.findAxeViolations()).toEqual([]);
    await keyboard.press("Enter");
    await eventually(() => page.announcement.innerText()).toMatch(/^The conversation was handed to .*Demo agent/);
    await page.tab.getByText(/Demo agent\W answers/).waitFor();
    expect(await page.field("Your answer").count()).toBe(0);
    await colleague.tab
      .getByRole("link", { name: new RegExp(visitor.id) })
      .getByText("You answer")
      .waitFor();
    await eventually(shown).toEqual(["A colleague has handed you a conversation: Hello"]);
    expect(await visitor.state()).toMatchObject({ state: "assigned", agent: { name: "Demo agent" } });
    expect(page.problems).toEqual([]);
  }, 60_000);

  it("keeps an answer that could not be sent, and sends it once", async () => {
    const bot = await addHandoffBot(fixture);
    const visitor = await startVisitor(fixture, bot);
    await visitor.say("Hello");
    const { page } = await openConsole(fixture);
    await page.signIn(`/inbox/${visitor.sessionId}`, visitor.id);
    await page.button("Take").click();
    await page.field("Your answer").fill("We open at seven.");
    // The message arrives, but its response is lost.
    await page.tab.route("**/messages/", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await page.field("Your answer").press("Enter");
    const error = page.tab.getByRole("alert").filter({ hasText: "The message was not sent." });
    await error.waitFor();
    await page.savePicture("inbox-failure");
    expect(await page.findAxeViolations()).toEqual([]);
    expect(await page.field("Your answer").inputValue()).toBe("We open at seven.");
    await page.tab.unroute("**/messages/");
    await page.openScreen("Keys");
    await page.tab.goBack();
    expect(await page.field("Your answer").inputValue()).toBe("We open at seven.");
    await page.field("Your answer").press("Enter");
    await eventually(() => page.field("Your answer").inputValue()).toBe("");
    await error.waitFor({ state: "hidden" });
    expect(await bubbles(page)).toEqual(["Hello", "We open at seven."]);
  }, 60_000);

  it("scrolls to a visitor's new message, unless the agent reads an earlier one", async () => {
    const bot = await addHandoffBot(fixture);
    const visitor = await startVisitor(fixture, bot);
    await visitor.say("Hello");
    const { page } = await openConsole(fixture);
    await page.signIn(`/inbox/${visitor.sessionId}`, visitor.id);
    await page.button("Take").click();
    await page.field("Your answer").waitFor();
    const scrollTop = () => page.tab.evaluate(() => scrollY);
    await visitor.say("A long message.\n".repeat(80));
    await eventually(scrollTop).toBeGreaterThan(0);
    await page.tab.evaluate(() => scrollTo(0, 0));
    await visitor.say("Are you there?");
    const news = page.tab.locator(".transcript-end");
    await eventually(() => news.innerText()).toBe("New message: Are you there?");
    expect(await scrollTop()).toBe(0);
  }, 60_000);

  it("does not show a conversation any longer that is deleted meanwhile", async () => {
    const bot = await addHandoffBot(fixture);
    const visitor = await startVisitor(fixture, bot);
    await visitor.say("My number is 4711.");
    const { page } = await openConsole(fixture);
    await page.signIn(`/inbox/${visitor.sessionId}`, visitor.id);
    await page.button("Take").click();
    await page.field("Your answer").waitFor();
    const session = { workspaceId: CONSOLE_WORKSPACE, sessionId: visitor.sessionId };
    await fixture.service.admin.sessions.deleteSession(session);
    await page.tab.getByText("This conversation no longer exists.").waitFor();
    expect(await page.tab.getByText("My number is 4711.").count()).toBe(0);
    expect(await page.field("Your answer").count()).toBe(0);
    expect(await page.button("Take").count()).toBe(0);
    expect(await page.findAxeViolations()).toEqual([]);
  }, 60_000);

  it("shows that the connection is lost, and who waits as soon as it is back", async () => {
    const bot = await addHandoffBot(fixture);
    const { page } = await openConsole(fixture);
    const live = "**/api/handoffs/live/";
    await page.tab.route(live, (route) => route.abort());
    await page.signIn("/inbox", "Inbox");
    const offline = page.tab.getByText("The connection is lost.");
    await offline.waitFor({ timeout: 20_000 });
    const visitor = await startVisitor(fixture, bot);
    await visitor.say("Hello");
    await visitor.askForPerson();
    await page.tab.unroute(live);
    await page.tab.getByRole("link", { name: new RegExp(visitor.id) }).waitFor({ timeout: 20_000 });
    expect(await offline.count()).toBe(0);
  }, 60_000);

  it("lists a message that a visitor left, until an agent marks it as answered", async () => {
    const bot = await addHandoffBot(fixture);
    const { page } = await openConsole(fixture);
    await page.signIn("/inbox?show=left", "Inbox");
    const visitor = await startVisitor(fixture, bot);
    await visitor.say("Hello");
    await visitor.leaveMessage("Where is my order?\nIt is late.");
    const row = page.tab.getByRole("link", { name: new RegExp(visitor.id) });
    await row.getByText("Waits for an e-mail", { exact: true }).waitFor();
    expect(await row.innerText()).toContain("ada@example.com");
    expect(await row.innerText()).toContain("Where is my order?");
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture("inbox-left");
    await page.tabTo(row);
    await page.tab.keyboard.press("Enter");
    const left = page.tab.getByRole("region", { name: "Message for the team" });
    await left.getByText("It is late.").waitFor();
    expect(await left.getByRole("link").getAttribute("href")).toBe("mailto:ada@example.com");
    await page.tab.getByText("The bot answers", { exact: true }).waitFor();
    expect(await page.button("Back to the bot").count()).toBe(0);
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture("inbox-left-conversation");
    // A message that arrives while the agent marks the earlier one stays open.
    await page.tab.route(
      "**/handoff/",
      async (route) => {
        await visitor.leaveMessage("It has arrived.");
        await route.continue();
      },
      { times: 1 },
    );
    await page.tabTo("Mark as answered");
    await page.tab.keyboard.press("Enter");
    await left.getByText("It has arrived.").waitFor();
    expect(await visitor.state()).toMatchObject({ contact_pending: true });
    await eventually(() => page.button("Mark as answered").isEnabled()).toBe(true);
    await page.button("Mark as answered").click();
    await eventually(() => page.button("Mark as answered").count()).toBe(0);
    await left.getByText("It is late.").waitFor();
    expect(await left.getByText("Waits for an e-mail").count()).toBe(0);
    expect(await visitor.state()).toMatchObject({ state: "bot", contact_pending: false });

    await page.goto(`/conversations/${visitor.sessionId}`);
    await left.getByText("It is late.").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.goto("/inbox?show=left");
    await page.heading("Inbox").waitFor();
    await eventually(() => row.count()).toBe(0);
    expect(page.problems).toEqual([]);
  }, 60_000);

  it("fits a phone, the dark theme and Arabic", async () => {
    const bot = await addHandoffBot(fixture);
    const visitor = await startVisitor(fixture, bot);
    await visitor.say("Hello");
    await visitor.leaveMessage("Where is my order?");
    await visitor.askForPerson();
    const looks = { phone: { viewport: PHONE }, dark: { colorScheme: "dark" }, arabic: { locale: "ar" } } as const;
    for (const [look, options] of Object.entries(looks)) {
      const { page } = await openConsole(fixture, options);
      await page.goto("/auth/sign-in?return_to=/inbox?show=all");
      await page.tab.getByRole("link", { name: new RegExp(visitor.id) }).waitFor();
      expect(await page.scrollsSideways()).toBe(false);
      expect(await page.findAxeViolations(), look).toEqual([]);
      await page.savePicture(`inbox-${look}`);
      await page.tab.getByRole("link", { name: new RegExp(visitor.id) }).click();
      await page.heading(visitor.id).waitFor();
      const take = page.tab.locator(".page-header .button.primary");
      if (await take.isVisible()) await take.click();
      if (look === "phone") {
        await page.button("Add a private note").click();
        await page.field("Private note").fill("A regular guest. ضيف دائم");
        await page.button("Save note").click();
      }
      await page.tab.locator(".note").waitFor();
      await page.tab.locator(".composer textarea").fill("شكرا. Thank you.");
      expect(await page.scrollsSideways()).toBe(false);
      expect(await page.findAxeViolations(), look).toEqual([]);
      await page.savePicture(`inbox-conversation-${look}`);
      expect(page.problems).toEqual([]);
    }
  }, 90_000);

  it("notifies of a visitor who waits, after the agent has turned notifications on", async () => {
    const bot = await addHandoffBot(fixture);
    const { page, context } = await openConsole(fixture);
    const shown = await fakeNotifications(page, context);
    await page.signIn("/inbox", "Inbox");
    await page.button("Turn on notifications").click();
    await page.button("Turn off notifications").waitFor();
    await page.openScreen("Keys");
    const visitor = await startVisitor(fixture, bot);
    await visitor.say("Is anybody there?");
    await visitor.leaveMessage("Where is my order?");
    await eventually(shown).toContain("A visitor has left a message: Where is my order?");
    await visitor.askForPerson();
    await eventually(shown).toContain("A visitor waits for a person: Is anybody there?");
    await page.tab.locator(".navigation .badge").waitFor();
    await page.tab.evaluate(
      (tag) => (globalThis as unknown as { clickNotification(tag: string): void }).clickNotification(tag),
      `parley ${visitor.sessionId}`,
    );
    await page.heading(visitor.id).waitFor();
    // The page was not loaded again: an agent may be typing.
    expect(await shown()).not.toEqual([]);
    expect(page.problems).toEqual([]);
  }, 60_000);
});

const bubbles = (page: ConsolePage) =>
  page.tab
    .locator(".bubble.visitor > p, .reply:has(.badge.neutral) .markdown")
    .evaluateAll((all) => all.map((element) => (element as HTMLElement).innerText.trim()));

/** Records the notifications of a window that is behind another one. Returns what reads their texts. */
async function fakeNotifications(page: ConsolePage, context: BrowserContext): Promise<() => Promise<string[]>> {
  await context.grantPermissions(["notifications"]);
  await page.tab.addInitScript(() => {
    const shown: string[] = [];
    const byTag = new Map<string, FakeNotification>();
    class FakeNotification {
      static permission = "granted";
      static requestPermission = async () => "granted";
      onclick?: () => void;
      constructor(title: string, { body, tag }: { body: string; tag: string }) {
        shown.push(`${title}: ${body}`);
        byTag.set(tag, this);
      }
    }
    const clickNotification = (tag: string) => byTag.get(tag)?.onclick?.();
    Object.assign(globalThis, { Notification: FakeNotification, shown, clickNotification });
    document.hasFocus = () => false;
  });
  return () => page.tab.evaluate(() => (globalThis as unknown as { shown: string[] }).shown);
}
