import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import type { WidgetPage } from "./widget-page.ts";

const recordEvents = (widget: WidgetPage) =>
  widget.page.evaluateHandle(() => {
    const events: unknown[] = [];
    for (const name of ["new", "undo", "thinking", "unread", "copy", "rate"] as const) {
      window.Parley?.on(name, (detail) => events.push([name, detail]));
    }
    return events;
  });

describeInBrowser("messages and the controls below replies", (fixture) => {
  it("show the time when the visitor points at a message, and the day between messages of different days", async () => {
    const widget = await fixture.visitAndOpen({ htmlAttributes: 'lang="de"' });
    await widget.askAndWait("quick");
    const times = widget.log.locator(".time");
    const opacity = () => times.first().evaluate((time) => getComputedStyle(time).opacity);
    expect(await times.allTextContents()).toEqual([
      expect.stringMatching(/^\d\d:\d\d$/),
      expect.stringMatching(/^\d\d:\d\d$/),
    ]);
    await widget.page.mouse.move(0, 0);
    expect(await opacity()).toBe("0");
    await widget.log.locator(".user").hover();
    expect(await opacity()).toBe("1");
    expect(await widget.log.locator(".day").filter({ visible: true }).count()).toBe(0);
    // The stored conversation becomes one of yesterday.
    await widget.page.evaluate((key) => {
      const stored = JSON.parse(localStorage.getItem(key) ?? "") as { entries: { at: number }[] };
      for (const entry of stored.entries) entry.at -= 86_400_000;
      localStorage.setItem(key, JSON.stringify(stored));
    }, `parley:${fixture.service.bot.publicKey}`);
    await widget.page.reload();
    await widget.open();
    await widget.askAndWait("quick");
    expect(await widget.log.locator(".day").filter({ visible: true }).allInnerTexts()).toEqual(["gestern", "heute"]);
    expect(await widget.findAxeViolations()).toEqual([]);
  });

  it.each([
    ["", ["clipboard-read", "clipboard-write"]],
    [", also without the permission", ["clipboard-read"]],
  ])("copy a reply, announce it and keep the focus%s", async (_, permissions) => {
    const widget = await fixture.visitAndOpen({
      context: { permissions },
      prepare: (page) =>
        page.addInitScript((isAllowed) => {
          if (!isAllowed) navigator.clipboard.writeText = () => Promise.reject(new Error("refused"));
        }, permissions.length > 1),
    });
    await widget.askAndWait("markdown");
    const events = await recordEvents(widget);
    const announcements = await widget.recordAnnouncements();
    await widget.tabTo("Copy", "Shift+Tab");
    await widget.page.keyboard.press("Enter");
    await eventually(announcements).toEqual(["Copied"]);
    expect(await widget.focusedName()).toBe("Copy");
    expect(await events.jsonValue()).toEqual([["copy", { text: expect.stringContaining("with two limits") }]]);
    await widget.tabTo("Your message");
    await widget.page.keyboard.press("Control+v");
    expect(await widget.input.inputValue()).toMatch(/^Yes, with two limits and one exception:\n/);
  });

  it("ask for the reason of a bad rating, and store it", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick");
    const events = await recordEvents(widget);
    const reason = widget.panel.getByLabel("What was wrong? (optional)");
    expect(await reason.isVisible()).toBe(false);
    await widget.panel.getByRole("button", { name: "Bad answer" }).click();
    await reason.waitFor();
    expect(await widget.focusedName()).toBe("Bad answer");
    expect(await widget.findAxeViolations()).toEqual([]);
    const announcements = await widget.recordAnnouncements();
    await widget.page.keyboard.press("Tab");
    expect(await reason.evaluate((field) => field.matches(":focus"))).toBe(true);
    await widget.page.keyboard.type("The price is old.");
    await widget.tabTo("Send");
    await widget.page.keyboard.press("Enter");
    await eventually(announcements).toEqual(["Thank you for your feedback."]);
    expect(await widget.focusedName()).toBe("Bad answer");
    expect(await reason.isVisible()).toBe(false);
    expect(await widget.answers.getByText("Thank you for your feedback.").isVisible()).toBe(true);
    const rating = { rating: "down", text: "Done." };
    expect(await events.jsonValue()).toEqual([
      ["rate", { ...rating, reason: "" }],
      ["rate", { ...rating, reason: "The price is old." }],
    ]);
    expect(widget.postedBodies("/api/chat/rating/").map((body) => body.reason)).toEqual([
      undefined,
      "The price is old.",
    ]);
  });

  it("ask for the reason again if it could not be stored, and keep its text", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick");
    await widget.panel.getByRole("button", { name: "Bad answer" }).click();
    const reason = widget.panel.getByLabel("What was wrong? (optional)");
    await reason.fill("too vague");
    await widget.page.route("**/api/chat/rating/", (route) => route.abort());
    await widget.answers.getByRole("button", { name: "Send" }).click();
    await eventually(() => widget.status.innerText()).toBe("The rating could not be saved.");
    expect(await reason.inputValue()).toBe("too vague");
    expect(await widget.panel.getByRole("button", { name: "Bad answer" }).getAttribute("aria-pressed")).toBe("true");
  });

  it("return to the earlier conversation after New conversation, also after a reload, until a message is sent", async () => {
    const widget = await fixture.visitAndOpen();
    const events = await recordEvents(widget);
    await widget.askAndWait("quick one");
    const startNew = widget.panel.getByRole("button", { name: "New conversation" });
    const undo = widget.panel.getByRole("button", { name: "Back to the earlier conversation" });
    expect(await undo.isVisible()).toBe(false);
    await startNew.click();
    await undo.click();
    expect(await widget.texts()).toEqual(["quick one", "Done."]);
    expect(await undo.isVisible()).toBe(false);
    expect(await events.jsonValue()).toEqual([
      ["new", {}],
      ["undo", {}],
    ]);
    await startNew.click();
    await widget.page.reload();
    await widget.open();
    await undo.click();
    await widget.askAndWait("quick two");
    expect(new Set(widget.postedBodies("/api/chat/").map(({ session_id }) => session_id)).size).toBe(1);
    await startNew.click();
    await widget.askAndWait("quick three");
    expect(await undo.isVisible()).toBe(false);
  });

  it("tell the page about thinking and unread replies", async () => {
    const widget = await fixture.visitAndOpen();
    const events = await recordEvents(widget);
    await widget.ask("think");
    await eventually(() => events.jsonValue()).toEqual([["thinking", {}]]);
    await widget.launcher.click();
    await eventually(() => events.jsonValue()).toEqual([
      ["thinking", {}],
      ["unread", { count: 1 }],
    ]);
    await widget.open();
    expect((await events.jsonValue()).at(-1)).toEqual(["unread", { count: 0 }]);
  });
});
