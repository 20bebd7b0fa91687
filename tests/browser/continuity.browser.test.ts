import { expect, it } from "vitest";
import { describeInWholeBrowser, eventually } from "./stage.ts";

describeInWholeBrowser("continuity", (stage) => {
  it("shows the conversation again after a reload, and goes on in the same session", async () => {
    const widget = await stage.visitAndOpen();
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

  it("keeps the part of an answer that a reload cut off, and offers the rest", async () => {
    const widget = await stage.visitAndOpen();
    await widget.ask("slow 200");
    await eventually(() => widget.answers.innerText()).toContain("word5");
    await widget.page.reload();
    await widget.open();
    expect((await widget.texts())[1]).toMatch(/^word1 word2 word3 word4 word5/);
    expect(await widget.notice.innerText()).toBe("Stopped. Try again");
  });

  it("is one conversation in two tabs", async () => {
    const first = await stage.visitAndOpen();
    const second = await stage.visitAndOpen({ sameVisitorAs: first });
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

  it("begins a new conversation with a new session and the suggestions", async () => {
    const widget = await stage.visitAndOpen();
    await widget.askAndWait("quick");
    await widget.panel.getByRole("button", { name: "New conversation" }).click();
    expect(await widget.texts()).toEqual([]);
    expect(await widget.panel.getByRole("group", { name: "Suggestions" }).isVisible()).toBe(true);
    await widget.askAndWait("quick");
    expect(new Set(widget.posted("/api/chat/").map(({ session_id }) => session_id)).size).toBe(2);
  });

  it("starts anew while an answer is on its way, of which nothing stays", async () => {
    const widget = await stage.visitAndOpen();
    await widget.ask("slow 100");
    await eventually(() => widget.answers.innerText()).toContain("word2");
    await widget.panel.getByRole("button", { name: "New conversation" }).click();
    await eventually(() => widget.texts()).toEqual([]);
    await widget.askAndWait("quick");
    expect(await widget.texts()).toEqual(["quick", "Done."]);
  });

  it("keeps the conversations with two bots of one site apart", async () => {
    const widget = await stage.visitAndOpen();
    await widget.askAndWait("quick");
    const other = await stage.visitAndOpen({
      ...(await stage.service.addBot({ name: "Other" })),
      sameVisitorAs: widget,
    });
    expect(await other.texts()).toEqual([]);
  });

  it("works without memory where storage is refused", async () => {
    const widget = await stage.visitAndOpen({
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

  it("begins anew, silently, when the owner has removed the conversation", async () => {
    const widget = await stage.visitAndOpen();
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
