import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import { slowReply } from "./replies.ts";

describeInBrowser("continuity", (fixture) => {
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
    expect(new Set(widget.postedBodies("/api/chat/").map(({ session_id }) => session_id)).size).toBe(1);
  });

  it("continues an answer after a reload and on the next page", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.ask("slow 100");
    await eventually(() => widget.answers.innerText()).toContain("word5");
    await widget.page.reload();
    await widget.open();
    await eventually(() => widget.answers.innerText()).toContain("word30");
    await widget.page.goto(`${widget.page.url()}?next`);
    await widget.open();
    await widget.ratingControls.waitFor();
    expect(await widget.texts()).toEqual(["slow 100", slowReply(100)]);
    await fixture.expectOneTurn([widget]);
  });

  it("shows an answer that ended while no page was open", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.ask("slow 30");
    await eventually(() => widget.answers.innerText()).toContain("word5");
    const url = widget.page.url();
    const [{ session_id } = {}] = widget.postedBodies("/api/chat/");
    await widget.page.goto("about:blank");
    await eventually(() => fixture.service.readTranscriptField(session_id, "status")).toEqual(["done", "done"]);
    await widget.page.goto(url);
    await widget.open();
    await widget.ratingControls.waitFor();
    expect(await widget.texts()).toEqual(["slow 30", slowReply(30)]);
    await fixture.expectOneTurn([widget]);
  });

  it("continues an answer from the last event after the connection was cut", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.ask("slow 150");
    await eventually(() => widget.answers.innerText()).toContain("word5");
    fixture.service.cutConnections();
    await eventually(() => widget.answers.innerText()).toContain("word30");
    fixture.service.cutConnections();
    await widget.ratingControls.waitFor();
    expect(await widget.texts()).toEqual(["slow 150", slowReply(150)]);
    await fixture.expectOneTurn([widget]);
    const lastEventIds = widget.requests.map((request) => request.headers()["last-event-id"]).filter(Boolean);
    expect(lastEventIds).toHaveLength(2);
    expect(lastEventIds[0]).toMatch(/^\d+-\d+$/);
  });

  it("shares one conversation between two tabs", async () => {
    const first = await fixture.visitAndOpen();
    const second = await fixture.visitAndOpen({ sameVisitorAs: first });
    await first.askAndWait("quick from the first");
    await eventually(() => second.texts()).toEqual(["quick from the first", "Done."]);
    await second.askAndWait("quick from the second");
    await eventually(() => first.texts()).toHaveLength(4);
    const sessions = [...first.postedBodies("/api/chat/"), ...second.postedBodies("/api/chat/")].map(
      ({ session_id }) => session_id,
    );
    expect(new Set(sessions).size).toBe(1);
    await second.panel.getByRole("button", { name: "New conversation" }).click();
    await eventually(() => first.texts()).toEqual([]);
  });

  it("starts a new conversation in a new session and shows the suggestions", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick");
    await widget.panel.getByRole("button", { name: "New conversation" }).click();
    expect(await widget.texts()).toEqual([]);
    expect(await widget.panel.getByRole("group", { name: "Suggestions" }).isVisible()).toBe(true);
    await widget.askAndWait("quick");
    expect(new Set(widget.postedBodies("/api/chat/").map(({ session_id }) => session_id)).size).toBe(2);
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
    expect(new Set(widget.postedBodies("/api/chat/").map(({ session_id }) => session_id)).size).toBe(1);
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
    const sessions = widget.postedBodies("/api/chat/").map(({ session_id }) => session_id);
    expect(sessions[0]).toBe(sessions[1]);
    expect(sessions[2]).not.toBe(sessions[0]);
  });

  it("on the next page, continues the answer of a new session and still shows why the session is new", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick");
    await widget.refuseChat(404, "session_not_found");
    // The answer takes 8 s, so that the page changes before it ends, even on a busy machine.
    await widget.ask("slow 200");
    await eventually(() => widget.answers.innerText()).toContain("word5");
    await widget.page.goto(`${widget.page.url()}?next`);
    await widget.open();
    await widget.ratingControls.waitFor();
    expect(await widget.texts()).toEqual(["slow 200", slowReply(200)]);
    expect(await widget.notice.innerText()).toBe("The earlier conversation has ended. This is a new one.");
    const [resent, continued] = widget.requests
      .filter((request) => request.method() === "POST" && request.url().endsWith("/api/chat/"))
      .slice(2);
    expect(continued?.postDataJSON()).toEqual(resent?.postDataJSON());
    expect(continued?.headers()["idempotency-key"]).toBe(resent?.headers()["idempotency-key"]);
  });
});
