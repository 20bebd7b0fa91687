import { SignJWT } from "jose";
import { expect, it } from "vitest";
import { describeInBrowser, eventually, type Visit } from "./fixture.ts";
import { FakeHistory, HistoryView } from "./history-page.ts";
import type { WidgetPage } from "./widget-page.ts";

describeInBrowser("past conversations", (fixture) => {
  /** Opens the panel of a verified visitor. */
  async function visit(history: FakeHistory, options: Visit = {}) {
    const widget = await fixture.visitAndOpen({ ...options, prepare: history.prepare });
    const view = new HistoryView(widget);
    await view.identify();
    return { widget, view };
  }

  it("can be listed, read and continued with the keyboard alone, and are announced", async () => {
    const history = new FakeHistory();
    const { widget, view } = await visit(history);
    const { keyboard } = widget.page;
    const announcements = await widget.recordAnnouncements();
    await widget.tabTo("Past conversations", "Shift+Tab");
    await keyboard.press("Enter");
    await eventually(announcements).toEqual(["Loading…", "Conversations: 20"]);
    expect(await widget.focusedName()).toBe("Past conversations");
    expect(await widget.log.isVisible()).toBe(false);
    expect(await view.conversations.first().innerText()).toMatch(/^Where is my order\?\n.*2026/);
    expect(await view.conversations.nth(1).innerText()).toMatch(/^Conversation\n/);

    await widget.tabTo("Show more conversations");
    await keyboard.press("Enter");
    await eventually(() => view.conversations.count()).toBe(25);
    expect(await widget.focusedName()).toMatch(/^Conversation 21/);
    expect(await view.section.getByRole("button", { name: "Show more conversations" }).isVisible()).toBe(false);

    await keyboard.press("Shift+Tab");
    expect(await widget.focusedName()).toMatch(/^Conversation 20/);
    await keyboard.press("Enter");
    await eventually(() => view.messages.count()).toBe(50);
    expect(await widget.focusedName()).toBe("Conversation 20");
    expect(await view.distanceToEnd()).toBeLessThanOrEqual(1);
    expect(await view.messages.last().innerText()).toMatch(/Answer 30\n+.*2026/);
    // A stopped reply cannot be repeated here.
    expect(await view.messages.nth(47).innerText()).toContain("Stopped.");
    expect(await view.section.getByRole("button", { name: "Try again" }).count()).toBe(0);
    await widget.tabTo("Show older messages");
    await keyboard.press("Enter");
    await eventually(() => view.messages.count()).toBe(60);
    expect(await view.messages.first().evaluate((message) => message.matches(":focus"))).toBe(true);
    expect(await view.messages.first().innerText()).toContain("Question 1");

    // Escape leads back to the list, and then to the chat.
    await keyboard.press("Escape");
    expect(await widget.focusedName()).toMatch(/^Conversation 20/);
    expect(await view.messages.count()).toBe(0);
    await keyboard.press("Escape");
    expect(await view.section.count()).toBe(0);
    expect(await widget.focusedName()).toBe("Past conversations");
    expect(await widget.panel.isVisible()).toBe(true);

    await keyboard.press("Enter");
    await view.conversations.first().click();
    await eventually(() => view.messages.count()).toBe(50);
    const events = await widget.page.evaluateHandle(() => {
      const names: string[] = [];
      for (const name of ["new", "continue"] as const) window.Parley?.on(name, () => names.push(name));
      return names;
    });
    await widget.tabTo("Continue this conversation");
    await keyboard.press("Enter");
    expect(await widget.focusedName()).toBe("Your message");
    expect((await announcements()).at(-1)).toBe("You continue an earlier conversation.");
    expect(await events.jsonValue()).toEqual(["continue"]);
    expect((await widget.texts()).slice(-2)).toEqual(["Question 30", "Answer 30"]);
    await widget.panel.getByRole("button", { name: "Good answer", pressed: true }).waitFor();
    await widget.ask("quick question");
    await eventually(() => widget.postedBodies("/api/chat/").at(0)?.session_id).toBe(
      "00000000-0000-4000-8000-000000000000",
    );
    expect(history.authorizations.every((authorization) => authorization === "Bearer token-1")).toBe(true);
    expect(widget.problems).toEqual([]);
  });

  it("show that a reply is being written, and the reply when it has ended", async () => {
    const history = new FakeHistory();
    history.isReplying = true;
    const { widget, view } = await visit(history);
    await view.opener.click();
    await view.conversations.first().click();
    await eventually(() => view.messages.last().innerText()).toContain("Sample Shop is writing");
    expect(await view.messages.count()).toBe(50);
    const proceed = view.section.getByRole("button", { name: "Continue this conversation" });
    expect(await proceed.isVisible()).toBe(false);
    expect(await widget.findAxeViolations()).toEqual([]);
    await view.section.getByRole("button", { name: "Show older messages" }).click();
    await eventually(() => view.messages.count()).toBe(60);
    history.refusals.push({ status: 503, code: "unavailable" });
    history.isReplying = false;
    await expect.poll(() => view.messages.last().innerText(), { timeout: 20_000 }).toMatch(/Answer 30\n+.*2026/);
    expect(await view.messages.count()).toBe(60);
    const count = history.authorizations.length;
    await proceed.click();
    expect((await widget.texts()).slice(-2)).toEqual(["Question 30", "Answer 30"]);
    await widget.page.waitForTimeout(6_000);
    expect(history.authorizations).toHaveLength(count);
  });

  it("are offered only while the page gives a token, and reset closes them", async () => {
    const history = new FakeHistory();
    const { widget, view } = await visit(history);
    const button = widget.panel.getByRole("button", { name: "Past conversations" });
    await button.click();
    await view.conversations.nth(1).click();
    await eventually(() => view.messages.count()).toBe(50);
    await widget.page.evaluate(() => window.Parley?.reset());
    expect(await view.section.count()).toBe(0);
    expect(await button.isVisible()).toBe(false);
    expect(await widget.input.isVisible()).toBe(true);
    const stored = await widget.page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
    expect(stored).not.toMatch(/order|Question/);
    await view.identify();
    await button.click();
    await view.conversations.first().waitFor();
    await widget.page.evaluate(() => window.Parley?.identify({ visitorToken: undefined }));
    expect(await view.section.count()).toBe(0);
  });

  it("give way to the chat when the page sends a message, with New conversation, and when the panel closes", async () => {
    const { widget, view } = await visit(new FakeHistory());
    const open = async () => {
      await widget.panel.getByRole("button", { name: "Past conversations" }).click();
      await view.conversations.first().waitFor();
    };
    await open();
    await widget.page.evaluate(() => window.Parley?.send("quick question"));
    await eventually(() => widget.texts()).toContain("quick question");
    expect(await view.section.count()).toBe(0);
    await open();
    await widget.panel.getByRole("button", { name: "New conversation" }).click();
    expect(await view.section.count()).toBe(0);
    expect(await widget.focusedName()).toBe("Your message");
    await open();
    await widget.panel.getByRole("button", { name: "Close chat" }).click();
    expect(await widget.focusedName()).toBe("Chat: Sample Shop");
    await widget.open();
    expect(await view.section.count()).toBe(0);
  });

  /** Holds the code of the past conversations back. Returns a function that lets it load. */
  async function holdCode({ page }: WidgetPage): Promise<() => Promise<void>> {
    const { promise: mayLoad, resolve } = Promise.withResolvers<void>();
    await page.route("**/widget/history.*.js", async (route) => {
      await mayLoad;
      await route.continue();
    });
    return async () => {
      const loaded = page.waitForResponse("**/widget/history.*.js");
      resolve();
      await (await loaded).finished();
    };
  }

  it("stay closed if the visitor has written a message before their code was loaded", async () => {
    const { widget, view } = await visit(new FakeHistory());
    const load = await holdCode(widget);
    await view.opener.click();
    await widget.ask("quick question");
    await eventually(() => widget.texts()).toContain("quick question");
    await load();
    await widget.page.waitForTimeout(200);
    expect(await view.section.count()).toBe(0);
    expect(await widget.focusedName()).toBe("Your message");
    await view.opener.click();
    await view.conversations.first().waitFor();
    expect(widget.problems).toEqual([]);
  });

  it("leave the focus on the page if the visitor has gone there before their code was loaded", async () => {
    const { widget, view } = await visit(new FakeHistory(), { body: '<input aria-label="Search">' });
    const load = await holdCode(widget);
    await view.opener.click();
    await widget.page.getByLabel("Search").focus();
    await load();
    await view.conversations.first().waitFor();
    expect(await widget.focusedName()).toBe("Search");
  });

  it("show that there are none, that they could not be loaded, and that their code could not be loaded", async () => {
    const history = new FakeHistory({ isEmpty: true });
    history.refusals.push({ status: 503, code: "unavailable" });
    const { widget, view } = await visit(history);
    const announcements = await widget.recordAnnouncements();
    const button = widget.panel.getByRole("button", { name: "Past conversations" });
    await widget.page.route("**/widget/history.*", (route) => route.abort(), { times: 1 });
    await button.click();
    await eventually(() => widget.panel.getByRole("alert").innerText()).toBe("Something went wrong. Please try again.");
    await button.click();
    const retry = view.section.getByRole("button", { name: "Try again" });
    await retry.waitFor();
    expect(await widget.panel.getByRole("alert").count()).toBe(0);
    expect(await view.section.innerText()).toContain("This could not be loaded.");
    expect(await widget.findAxeViolations()).toEqual([]);
    await retry.click();
    await eventually(() => view.section.innerText()).toContain("There are no past conversations yet.");
    expect(await retry.isVisible()).toBe(false);
    expect(await widget.findAxeViolations()).toEqual([]);
    expect(await announcements()).toEqual([
      "Loading…",
      "This could not be loaded.",
      "Loading…",
      "There are no past conversations yet.",
    ]);
  });

  it("ask the page for another token once if the token has expired", async () => {
    const history = new FakeHistory();
    history.refusals.push({ status: 401, code: "invalid_visitor_token" });
    const { widget, view } = await visit(history);
    await widget.page.evaluate(() => {
      let count = 0;
      window.Parley?.identify({ visitorToken: () => `token-${++count}` });
    });
    await widget.panel.getByRole("button", { name: "Past conversations" }).click();
    await eventually(() => view.conversations.count()).toBe(20);
    expect(history.authorizations).toEqual(["Bearer token-1", "Bearer token-2"]);
  });

  it.each<[string, Visit]>([
    ["light", {}],
    ["dark", { attributes: { "data-theme": "dark" } }],
    ["from right to left", { htmlAttributes: 'lang="ar" dir="rtl"' }],
    ["at 320 px", { context: { viewport: { width: 320, height: 640 } } }],
    ["in forced colours", { context: { forcedColors: "active" } }],
  ])("have no axe violation and fit: %s", async (_, options) => {
    const { widget, view } = await visit(new FakeHistory(), options);
    const overflowing = () =>
      view.section.evaluate((section) =>
        [section, ...section.querySelectorAll("*")]
          .filter((element) => !element.closest(".sr, svg, h3") && element.checkVisibility())
          .filter((element) => element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1)
          .map((element) => element.className || element.tagName),
      );
    await view.opener.click();
    await view.conversations.first().waitFor();
    expect(await widget.findAxeViolations()).toEqual([]);
    expect(await overflowing()).toEqual([]);
    await view.conversations.nth(2).click();
    await view.messages.first().waitFor();
    expect(await widget.findAxeViolations()).toEqual([]);
    expect(await overflowing()).toEqual([]);
  });

  it("of one browser are shown and continued in another", async () => {
    const { admin, system } = fixture.service;
    const { workspaceId } = system;
    const { key, secret } = await admin.identityKeys.createIdentityKey({ workspaceId });
    const token = await new SignJWT({ sub: "A" })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime("1h")
      .sign(new TextEncoder().encode(secret));
    // A public key that the edge does not know yet, because it would know the workspace's identity keys only after some seconds.
    const { publicKey } = await fixture.service.addBot({});
    const first = await fixture.visitAndOpen({ publicKey });
    await new HistoryView(first).identify(token);
    await first.askAndWait("quick one");

    const second = await fixture.visitAndOpen({ publicKey });
    const view = new HistoryView(second);
    await view.identify(token);
    await view.opener.click();
    await view.conversations.filter({ hasText: "quick one" }).click();
    await eventually(() => view.messages.locator(".bubble").allInnerTexts()).toEqual(["quick one", "Done."]);
    await second.panel.getByRole("button", { name: "Continue this conversation" }).click();
    await second.ratingControls.waitFor();
    await second.askAndWait("quick two");
    expect(await second.texts()).toEqual(["quick one", "Done.", "quick two", "Done."]);
    const sessions = [first, second].map((widget) => widget.postedBodies("/api/chat/").at(-1)?.session_id);
    expect(sessions[1]).toBe(sessions[0]);
    expect(second.problems).toEqual([]);
    await admin.identityKeys.revokeIdentityKey({ workspaceId, kid: key?.kid ?? "" });
  });
});
