import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import { reply } from "./widget-page.ts";

// What a screen reader announces and reads: the status regions and the accessibility tree.

describeInBrowser("a screen reader", (fixture) => {
  it("announces an answer once, not token by token, and before it that the bot is writing", async () => {
    const widget = await fixture.visitAndOpen();
    const announcements = await widget.recordAnnouncements();
    await widget.askAndWait("slow 25");
    expect(await announcements()).toEqual(["Sample Shop is writing", expect.stringMatching(/^word1 .* word25 ?$/)]);
    await widget.askAndWait("quick");
    expect((await announcements()).slice(2)).toEqual(["Sample Shop is writing", "Done."]);
    expect(await widget.log.getAttribute("aria-live")).toBe("off");
  });

  it("announces the paragraphs, list items, cells and lines of an answer separately", async () => {
    const widget = await fixture.visitAndOpen();
    const announcements = await widget.recordAnnouncements();
    const text =
      "### In short\n\nThere are **two** plans:\n\n- Free\n  - with limits\n- Pro\n\n| Plan | Price |\n|---|---|\n| Pro | 5 |\n\n```\na b\nc\n```\n\none\\\ntwo";
    await widget.streamChat(reply(text));
    await widget.askAndWait("x");
    expect((await announcements()).at(-1)).toBe(
      "In short / There are two plans: / Free / with limits / Pro / Plan / Price / Pro / 5 / a b / c / one / two",
    );
  });

  it("announces that the bot is thinking once in a reply", async () => {
    const widget = await fixture.visitAndOpen();
    const announcements = await widget.recordAnnouncements();
    await widget.askAndWait("think");
    expect(await announcements()).toEqual(["Sample Shop is writing", "Looking that up…", "Done."]);
  });

  it("announces once that a message will be sent again", async () => {
    const widget = await fixture.visitAndOpen();
    const announcements = await widget.recordAnnouncements();
    await widget.refuseChat(429, "rate_limited", { "Retry-After": "2" });
    await widget.askAndWait("quick");
    expect(await announcements()).toEqual([
      "Sample Shop is writing",
      "A lot of messages right now. Yours will be sent again in 2 s.",
      "Sample Shop is writing",
      "Done.",
    ]);
  });

  it("announces that the earlier conversation has ended, a new conversation, and the return to the earlier one", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick one");
    const announcements = await widget.recordAnnouncements();
    await widget.refuseChat(404, "session_not_found");
    await widget.ask("quick again");
    await eventually(() => widget.texts()).toEqual(["quick again", "Done."]);
    await widget.panel.getByRole("button", { name: "New conversation" }).click();
    expect(await widget.texts()).toEqual([]);
    await widget.tabTo("Back to the earlier conversation", "Shift+Tab");
    await widget.page.keyboard.press("Enter");
    expect(await widget.texts()).toEqual(["quick again", "Done."]);
    expect(await widget.focusedName()).toBe("Your message");
    expect(await announcements()).toEqual([
      "Sample Shop is writing",
      "The earlier conversation has ended. This is a new one.",
      "Done.",
      "New conversation",
      "Back to the earlier conversation",
    ]);
  });

  it("announces a failure, and in a modal panel too", async () => {
    const widget = await fixture.visitAndOpen({ context: { viewport: { width: 320, height: 640 } } });
    const announcements = await widget.recordAnnouncements();
    await widget.refuseChat(503, "unavailable");
    await widget.ask("x");
    await widget.notice.waitFor();
    expect(await announcements()).toEqual([
      "Sample Shop is writing",
      "The assistant is busy right now. Please try again in a moment.",
    ]);
    expect(await widget.panel.getByRole("status").count()).toBe(2);
  });

  it("learns that a message is too long when it becomes so and at Enter, not at every key, and from the field", async () => {
    const widget = await fixture.visitAndOpen();
    const announcements = await widget.recordAnnouncements();
    const describe = () =>
      widget.input.evaluate((input) => [
        input.getAttribute("aria-invalid"),
        (input.getRootNode() as ShadowRoot).getElementById(input.getAttribute("aria-describedby") ?? "")?.textContent,
      ]);
    await widget.input.fill("x".repeat(4000));
    expect(await describe()).toEqual(["false", ""]);
    await widget.input.press("End");
    await widget.page.keyboard.type("yyy");
    expect(await describe()).toEqual(["true", "Excess characters: 3"]);
    expect(await announcements()).toEqual(["Excess characters: 1"]);
    await widget.page.keyboard.press("Enter");
    expect(await announcements()).toEqual(["Excess characters: 1", "Excess characters: 3"]);
    for (let count = 0; count < 3; count++) await widget.page.keyboard.press("Backspace");
    expect(await describe()).toEqual(["false", ""]);
    expect(widget.postedBodies("/api/chat/")).toEqual([]);
  });

  it("reads each message as an article with its author and time, the welcome too", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick");
    const articles = widget.log.getByRole("article");
    expect(await articles.evaluateAll((all) => all.map((each) => each.getAttribute("aria-label")))).toEqual([
      "Sample Shop",
      "You",
      "Sample Shop",
    ]);
    expect(await articles.nth(0).textContent()).toMatch(/^Sample Shop: ./);
    for (const article of [articles.nth(1), articles.nth(2)]) {
      expect(await article.locator(".time").textContent()).toMatch(/^\d{1,2}:\d\d\s[AP]M$/);
    }
  });

  it("finds each block of code as a group that scrolls with the keyboard", async () => {
    const widget = await fixture.visitAndOpen({ attributes: { "data-lang": "fr" } });
    await widget.askAndWait("table");
    const code = widget.answers.getByRole("group", { name: "Code" });
    expect(await code.evaluate((box) => box.scrollWidth > box.clientWidth)).toBe(true);
    await code.focus();
    await widget.page.keyboard.press("ArrowRight");
    await eventually(() => code.evaluate((box) => box.scrollLeft)).toBeGreaterThan(0);
  });

  it("and all others read code from left to right in an Arabic answer", async () => {
    const widget = await fixture.visitAndOpen({ htmlAttributes: 'lang="ar" dir="rtl"' });
    await widget.streamChat(reply("شغّل `npm run --silent` ثم:\n\n```\nls -l /tmp\n```"));
    await widget.askAndWait("x");
    for (const code of await widget.answers.locator("code").all()) {
      expect(
        await code.evaluate((element) => [getComputedStyle(element).direction, getComputedStyle(element).unicodeBidi]),
      ).toEqual(["ltr", "isolate"]);
    }
    expect(
      await widget.answers
        .locator("p")
        .first()
        .evaluate((text) => getComputedStyle(text).direction),
    ).toBe("rtl");
  });
});
