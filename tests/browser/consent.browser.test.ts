import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { describeInBrowser, eventually, type Visit } from "./fixture.ts";
import type { WidgetPage } from "./widget-page.ts";

const TEXT = "We **store** this chat for [30 days](https://shop.example/storage).";
const GERMAN = "Wir **speichern** diesen Chat.";

describeInBrowser("consent", (fixture) => {
  /** Adds a bot that asks for a consent. */
  async function addBot() {
    const bot = await fixture.service.addBot({ quick_replies: [] });
    const texts = { values: { de: { consentText: GERMAN }, ar: { consentText: "نخزّن هذه المحادثة." } } };
    await update(bot.slug, { consentText: TEXT, consentLink: "https://shop.example/privacy", texts });
    return bot;
  }
  const update = (slug: string, changes: object) =>
    fixture.service.admin.bots.updateBot({ workspaceId: fixture.service.system.workspaceId, slug, changes });
  const chats = (widget: WidgetPage) => widget.postedBodies("/api/chat/");
  const question = (widget: WidgetPage) => widget.panel.getByRole("group", { name: "Your consent" });
  const button = (widget: WidgetPage, name: string) => question(widget).getByRole("button", { name });

  async function ask(widget: WidgetPage, text: string): Promise<void> {
    await widget.ask(text);
    await widget.panel.locator(".gate [role=group]").waitFor();
  }
  const isQuestionFocused = (widget: WidgetPage) =>
    widget.host.evaluate((host) => host.shadowRoot?.activeElement?.matches(".gate [role=group]"));

  it("asks before the first message, with the keyboard alone, and sends the same message when the visitor agrees", async () => {
    const { slug, publicKey } = await addBot();
    const widget = await fixture.visitAndOpen({ publicKey });
    await ask(widget, "quick one");
    await eventually(() => isQuestionFocused(widget)).toBe(true);
    expect(await widget.panel.locator("#consent-text").innerText()).toBe("We store this chat for 30 days.");
    const link = question(widget).getByRole("link", { name: "More information" });
    expect(await link.getAttribute("href")).toBe("https://shop.example/privacy");
    expect(await widget.findAxeViolations()).toEqual([]);
    for (const name of ["30 days", "More information", "Agree"]) {
      await widget.page.keyboard.press("Tab");
      expect(await widget.focusedName()).toBe(name);
    }
    await widget.page.keyboard.press("Enter");
    await eventually(() => widget.texts()).toEqual(["quick one", "Done."]);
    expect(await question(widget).count()).toBe(0);
    expect(await widget.focusedName()).toBe("Your message");
    await widget.askAndWait("quick two");
    expect(chats(widget).map(({ consent_version }) => consent_version)).toEqual([undefined, "1", "1"]);
    const sessionId = chats(widget)[0]?.session_id;
    expect(new Set(chats(widget).map(({ session_id }) => session_id))).toEqual(new Set([sessionId]));
    const { workspaceId } = fixture.service.system;
    const { session } = await fixture.service.admin.turns.listTurns({ workspaceId, sessionId: String(sessionId) });
    expect(session).toMatchObject({ botSlug: slug, consentVersion: "1", consentedAt: session?.startedAt });
    expect(widget.problems).toEqual([]);
  });

  it.each<[string, (widget: WidgetPage) => Promise<void>]>([
    ["Decline", (widget) => button(widget, "Decline").click()],
    ["Escape", (widget) => widget.page.keyboard.press("Escape")],
    ["Escape in the text field", (widget) => widget.input.press("Escape")],
  ])("%s keeps the message unsent, and Try again asks again", async (_, decline) => {
    const { slug, publicKey } = await addBot();
    const widget = await fixture.visitAndOpen({ publicKey });
    await ask(widget, "quick one");
    await decline(widget);
    await eventually(() => question(widget).count()).toBe(0);
    expect(await widget.panel.isVisible()).toBe(true);
    expect(await widget.focusedName()).toBe("Your message");
    await eventually(() => widget.texts()).toEqual(["quick one"]);
    const { workspaceId } = fixture.service.system;
    const stored = () => fixture.service.admin.sessions.listSessions({ workspaceId, botSlug: slug });
    expect((await stored()).sessions).toEqual([]);
    await widget.notice.getByRole("button", { name: "Try again" }).click();
    await button(widget, "Agree").click();
    await eventually(() => widget.texts()).toEqual(["quick one", "Done."]);
    expect((await stored()).sessions).toHaveLength(1);
  });

  it("is announced if a reload sends the message again, and the focus stays on the page", async () => {
    const { publicKey } = await addBot();
    const widget = await fixture.visitAndOpen({ publicKey });
    await ask(widget, "quick one");
    await widget.page.reload();
    await question(widget).waitFor();
    await eventually(() => widget.status.innerText()).toBe("Your consent");
    expect(await isQuestionFocused(widget)).not.toBe(true);
  });

  it("a new conversation, a reload and another tab are not asked; a new version and a reset are", async () => {
    const { slug, publicKey } = await addBot();
    const widget = await fixture.visitAndOpen({ publicKey });
    await ask(widget, "quick one");
    await button(widget, "Agree").click();
    await eventually(() => widget.texts()).toEqual(["quick one", "Done."]);
    await widget.panel.getByRole("button", { name: "New conversation" }).click();
    await widget.askAndWait("quick two");
    await widget.page.reload();
    await widget.open();
    await widget.askAndWait("quick three");
    const other = await fixture.visitAndOpen({ publicKey, sameVisitorAs: widget });
    await other.askAndWait("quick four");
    expect(chats(other)).toMatchObject([{ consent_version: "1" }]);

    await update(slug, { consentVersion: "2" });
    // The change applies within 5 s.
    const isRefused = async () => {
      const body = { public_key: publicKey, session_id: randomUUID(), message: "quick", consent_version: "1" };
      const headers = { "Content-Type": "application/json", Origin: fixture.site.origin };
      const url = `${fixture.service.url}/api/chat/`;
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
      await response.text();
      return response.status === 403;
    };
    await expect.poll(isRefused, { timeout: 15_000, interval: 1_000 }).toBe(true);
    await ask(widget, "quick again");
    await button(widget, "Agree").click();
    await eventually(() => chats(widget).at(-1)?.consent_version).toBe("2");

    await widget.page.evaluate(() => window.Parley?.reset());
    await ask(widget, "quick five");
    expect(chats(widget).at(-1)).not.toHaveProperty("consent_version");
  });

  it.each<[string, Visit, string]>([
    ["dark", { attributes: { "data-theme": "dark" } }, TEXT],
    ["phone", { context: { viewport: { width: 375, height: 667 } } }, TEXT],
    ["low screen", { context: { viewport: { width: 320, height: 256 } } }, TEXT],
    ["german in an English browser", { attributes: { "data-lang": "de" }, context: { locale: "en-US" } }, GERMAN],
    ["english in a German browser", { htmlAttributes: 'lang="en"', context: { locale: "de-AT" } }, TEXT],
    ["right to left", { htmlAttributes: 'lang="ar" dir="rtl"', context: { locale: "ar" } }, "نخزّن هذه المحادثة."],
    ["forced colors", { context: { forcedColors: "active" } }, TEXT],
  ])("is accessible and complete: %s", async (_, visit, text) => {
    const { publicKey } = await addBot();
    const widget = await fixture.visitAndOpen({ publicKey, ...visit });
    await ask(widget, "quick one");
    expect(await widget.panel.locator("#consent-text").innerText()).toBe(text.replace(/\*\*|\[|\]\(.*?\)/g, ""));
    expect(await widget.findAxeViolations()).toEqual([]);
    const agree = widget.panel.locator(".gate .agree");
    await agree.scrollIntoViewIfNeeded();
    const [box, window] = [await agree.boundingBox(), widget.page.viewportSize()];
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(window?.width ?? 0);
    expect(box?.height).toBeGreaterThanOrEqual(24);
    await agree.click();
    await eventually(() => widget.texts()).toEqual(["quick one", "Done."]);
  });
});
