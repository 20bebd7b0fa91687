import { expect, it } from "vitest";
import { describeInFullBrowser, eventually } from "./fixture.ts";

describeInFullBrowser("continuity", (fixture) => {
  it("shows the conversation after a reload and continues the session", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("markdown");
    await widget.panel.getByRole("button", { name: "Bad answer" }).click();
    const texts = await widget.texts();
    await widget.page.reload();
    await widget.open();
    expect(await widget.texts()).toEqual(texts);
    expect(await widget.panel.getByRole("button", { name: "Bad answer" }).getAttribute("aria-pressed")).toBe("true");
    await widget.askAndWait("quick");
    expect(new Set(widget.posted("/api/chat/").map(({ session_id }) => session_id)).size).toBe(1);
  });

  it("keeps the received part of an answer after a reload and offers a retry", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.ask("slow 200");
    await eventually(() => widget.answers.innerText()).toContain("word5");
    await widget.page.reload();
    await widget.open();
    expect((await widget.texts())[1]).toMatch(/^word1 word2 word3 word4 word5/);
    expect(await widget.notice.innerText()).toBe("Stopped. Try again");
  });

  it("shares one conversation between two tabs", async () => {
    const first = await fixture.visitAndOpen();
    const second = await fixture.visitAndOpen({ sameVisitorAs: first });
    await first.askAndWait("quick from the first");
    await eventually(() => second.texts()).toEqual(["quick from the first", "Done."]);
    await second.askAndWait("quick from the second");
    await eventually(() => first.texts()).toHaveLength(4);
    const sessions = [...first.posted("/api/chat/"), ...second.posted("/api/chat/")].map(
      ({ session_id }) => session_id,
    );
    expect(new Set(sessions).size).toBe(1);
    await second.panel.getByRole("button", { name: "New conversation" }).click();
    await eventually(() => first.texts()).toEqual([]);
  });

  it("starts a new conversation with a new session and the suggestions", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick");
    await widget.panel.getByRole("button", { name: "New conversation" }).click();
    expect(await widget.texts()).toEqual([]);
    expect(await widget.panel.getByRole("group", { name: "Suggestions" }).isVisible()).toBe(true);
    await widget.askAndWait("quick");
    expect(new Set(widget.posted("/api/chat/").map(({ session_id }) => session_id)).size).toBe(2);
  });

  it("starts a new conversation during an answer and discards the answer", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.ask("slow 100");
    await eventually(() => widget.answers.innerText()).toContain("word2");
    await widget.panel.getByRole("button", { name: "New conversation" }).click();
    await eventually(() => widget.texts()).toEqual([]);
    await widget.askAndWait("quick");
    expect(await widget.texts()).toEqual(["quick", "Done."]);
  });

  it("keeps the conversations with two bots of one site separate", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick");
    const other = await fixture.visitAndOpen({
      ...(await fixture.service.addBot({ name: "Other" })),
      sameVisitorAs: widget,
    });
    expect(await other.texts()).toEqual([]);
  });

  it("works without storage, but forgets the conversation on reload", async () => {
    const widget = await fixture.visitAndOpen({
      prepare: (page) =>
        page.addInitScript(() => {
          Object.defineProperty(window, "localStorage", {
            get() {
              throw new DOMException("refused", "SecurityError");
            },
          });
        }),
    });
    await widget.askAndWait("quick");
    await widget.askAndWait("quick");
    expect(new Set(widget.posted("/api/chat/").map(({ session_id }) => session_id)).size).toBe(1);
    await widget.page.reload();
    await widget.open();
    expect(await widget.texts()).toEqual([]);
    expect(widget.problems).toEqual([]);
  });

  it("starts a new session and resends the message when the owner has deleted the session", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick");
    await widget.refuseChat(404, "session_not_found");
    await widget.ask("quick again");
    await eventually(() => widget.texts()).toEqual(["quick again", "Done."]);
    expect(await widget.notice.innerText()).toBe("The earlier conversation has ended. This is a new one.");
    const sessions = widget.posted("/api/chat/").map(({ session_id }) => session_id);
    expect(sessions[0]).toBe(sessions[1]);
    expect(sessions[2]).not.toBe(sessions[0]);
  });
});
