import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import type { WidgetPage } from "./widget-page.ts";

// The first word of a visitor's message selects the fake provider's reply: see replies.ts. The reply to "quick" is "Done.".

const META = ["meta", { session_id: "s", message_id: 7 }] as const;
const done = (finish_reason: string) => ["done", { finish_reason }] as const;

/** Errors before the stream: status, code, the text that the visitor sees, and whether a retry is offered. */
const REFUSALS = [
  [400, "invalid_json", "This message could not be sent.", false],
  [400, "invalid_message", "This message could not be sent.", false],
  [400, "message_too_long", "This message is too long. It can have at most 4,000 characters.", false],
  [400, "invalid_session_id", "This message could not be sent.", false],
  [401, "invalid_api_key", "This chat is not available at the moment.", false],
  [403, "origin_not_allowed", "This chat is not available at the moment.", false],
  [405, "method_not_allowed", "This message could not be sent.", false],
  [413, "payload_too_large", "This message is too long. It can have at most 4,000 characters.", false],
  [503, "unavailable", "The assistant is busy right now. Please try again in a moment.", true],
] as const;

/** Errors in the stream: code, the text that the visitor sees, and whether a retry is offered. */
const FAILURES = [
  [
    "quota_exceeded",
    "The assistant cannot answer any more messages this month. Please contact us in another way.",
    false,
  ],
  ["busy", "The assistant is busy right now. Please try again in a moment.", true],
  ["provider_auth", "This chat is not available at the moment.", false],
  ["provider_rate_limited", "The assistant is busy right now. Please try again in a moment.", true],
  ["provider_timeout", "The answer took too long. Please try again.", true],
  ["provider_error", "Something went wrong. Please try again.", true],
  ["internal_error", "Something went wrong. Please try again.", true],
] as const;

const noticeText = (words: string, offersRetry: boolean) => (offersRetry ? `${words} Try again` : words);

describeInBrowser("errors", (fixture) => {
  const newConversation = (widget: WidgetPage) =>
    widget.panel.getByRole("button", { name: "New conversation" }).click();

  it(`explains in plain words ${REFUSALS.map(([status, code]) => `${status} ${code}`).join(", ")}`, async () => {
    const widget = await fixture.visitAndOpen();
    for (const [status, code, words, offersRetry] of REFUSALS) {
      await newConversation(widget);
      await widget.refuseChat(status, code);
      await widget.ask(`quick ${code}`);
      await eventually(() => widget.texts()).toEqual([`quick ${code}`]);
      await eventually(() => widget.notice.innerText()).toBe(noticeText(words, offersRetry));
      expect(await widget.texts()).toEqual([`quick ${code}`]);
      expect(await widget.findAxeViolations(), code).toEqual([]);
    }
  });

  it(`explains in plain words ${FAILURES.map(([code]) => code).join(", ")} in the stream`, async () => {
    const widget = await fixture.visitAndOpen();
    const reportedCodes: string[] = [];
    await widget.page.exposeFunction("reportError", (code: string) => reportedCodes.push(code));
    await widget.page.evaluate(() => {
      window.Parley?.on("error", (detail) =>
        (window as unknown as { reportError(code: string): void }).reportError(detail.code),
      );
    });
    for (const [at, [code, words, offersRetry]] of FAILURES.entries()) {
      await newConversation(widget);
      await widget.streamChat([
        META,
        ["error", { code, message: "Raw words of the service" }],
        done(code === "quota_exceeded" ? code : "error"),
      ]);
      await widget.ask(`quick ${code}`);
      await eventually(() => widget.texts()).toEqual([`quick ${code}`]);
      await eventually(() => widget.notice.innerText()).toBe(noticeText(words, offersRetry));
      expect(await widget.log.innerText()).not.toContain("Raw");
      await eventually(() => reportedCodes.slice(at)).toEqual([code]);
      expect(await widget.findAxeViolations(), code).toEqual([]);
    }
  });

  it("shows the id of the request beside an error, also after a reload, and not beside a stopped or a later complete reply", async () => {
    const widget = await fixture.visitAndOpen();
    const id = "01a229ee-4b46-7474-b71d-51848e2411ec";
    await widget.refuseChat(503, "unavailable", { "Parley-Request-Id": id });
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText()).toContain(`\nID ${id}`);
    expect(await widget.findAxeViolations()).toEqual([]);
    await widget.page.reload();
    await widget.open();
    await eventually(() => widget.notice.innerText()).toContain(`\nID ${id}`);
    await widget.log.getByRole("button", { name: "Try again" }).click();
    await widget.ratingControls.waitFor();
    expect(await widget.notice.count()).toBe(0);
    await widget.ask("slow 40");
    await eventually(() => widget.texts()).toContainEqual(expect.stringContaining("word2"));
    await widget.sendButton.click();
    await eventually(() => widget.notice.innerText()).toBe("Stopped. Try again");
  });

  it("shows the id of a turn whose reply failed, which the service has too", async () => {
    const { admin, system } = fixture.service;
    const { slug, publicKey } = await fixture.service.addBot({});
    const { workspaceId } = system;
    await admin.bots.updateBot({ workspaceId, slug, changes: { model: "no:such" } });
    const widget = await fixture.visitAndOpen({ publicKey });
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText()).toMatch(/\nID [0-9a-f-]{36}$/);
    const [, turnId = ""] = (await widget.notice.innerText()).split("ID ");
    const { turn } = await admin.turns.getTurn({ workspaceId, turnId });
    expect(turn).toMatchObject({ turnId, status: "error" });
  });

  it("shows a blocked message's fallback, which cannot be rated", async () => {
    const { admin, system } = fixture.service;
    const { slug, publicKey } = await fixture.service.addBot({});
    const fallback = "Let us talk about *something else*.";
    await admin.moderation.addPattern({
      workspaceId: system.workspaceId,
      botSlug: slug,
      pattern: "weather",
      fallback,
    });
    const widget = await fixture.visitAndOpen({ publicKey });
    await widget.ask("How is the weather?");
    await eventually(() => widget.texts()).toEqual(["How is the weather?", "Let us talk about something else."]);
    await eventually(() => widget.sendButton.getAttribute("aria-label")).toBe("Send");
    expect(await widget.ratingControls.count()).toBe(0);
    expect(await widget.notice.count()).toBe(0);
    expect(await widget.findAxeViolations()).toEqual([]);
  });

  it("resends the same text once when the visitor retries", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.refuseChat(503, "unavailable", { "Retry-After": "1" });
    await widget.ask("quick question");
    const retry = widget.log.getByRole("button", { name: "Try again" });
    await retry.click();
    await widget.ratingControls.waitFor();
    expect(await widget.texts()).toEqual(["quick question", "Done."]);
    expect(widget.postedBodies("/api/chat/").map(({ message }) => message)).toEqual([
      "quick question",
      "quick question",
    ]);
    expect(await widget.focusedName()).toBe("Your message");
  });

  it("offers a retry after a reload", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.refuseChat(503, "unavailable");
    await widget.ask("quick question");
    await widget.notice.waitFor();
    await widget.page.reload();
    await widget.open();
    await widget.log.getByRole("button", { name: "Try again" }).click();
    await eventually(() => widget.texts()).toEqual(["quick question", "Done."]);
  });

  it("treats an empty answer as a failure", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.streamChat([META, done("stop")]);
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText()).toContain("Something went wrong.");
  });

  it("resends a rate-limited message automatically after Retry-After", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.refuseChat(429, "rate_limited", { "Retry-After": "2" });
    // The page records the texts itself, because polling from the test could miss a text that is shown for one second.
    const shownNotices = await widget.panel.evaluateHandle((panel) => {
      const notices = new Set<string>();
      new MutationObserver(() => notices.add(panel.querySelector(".gate")?.textContent.trim() ?? "")).observe(panel, {
        childList: true,
        characterData: true,
        subtree: true,
      });
      return notices;
    });
    const startedAt = performance.now();
    await widget.ask("quick");
    await widget.ratingControls.waitFor();
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1900);
    const waitText = "A lot of messages right now. Yours will be sent again in";
    expect(
      (await shownNotices.evaluate((notices) => [...notices])).filter((notice) => notice.startsWith(waitText)),
    ).toEqual([`${waitText} 2 s.`, `${waitText} 1 s.`]);
    expect(await widget.texts()).toEqual(["quick", "Done."]);
    expect(widget.postedBodies("/api/chat/")).toHaveLength(2);
  });

  it("lets the visitor cancel the wait for Retry-After", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.refuseChat(429, "rate_limited", { "Retry-After": "60" });
    await widget.ask("quick");
    await eventually(() => widget.panel.locator(".gate").innerText()).toMatch(/sent again in \d\d s\.$/);
    expect(await widget.findAxeViolations()).toEqual([]);
    await widget.sendButton.click();
    await eventually(() => widget.notice.innerText()).toBe("Stopped. Try again");
    expect(widget.postedBodies("/api/chat/")).toHaveLength(1);
  });

  it("keeps a message that was entered offline, and sends it when the network is back", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.page.context().setOffline(true);
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText()).toContain(
      "You are offline. The chat continues when you are online again.",
    );
    await widget.page.context().setOffline(false);
    await eventually(() => widget.texts()).toEqual(["quick", "Done."]);
  });

  it("when the network is back, sends all messages that were entered offline", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.page.context().setOffline(true);
    for (const [at, text] of ["quick 1", "quick 2", "quick 3"].entries()) {
      await widget.ask(text);
      await eventually(() => widget.notice.count()).toBe(at + 1);
    }
    await widget.page.context().setOffline(false);
    // An answer is shown before its turn has ended. The rating controls appear at the end.
    await eventually(() => widget.ratingControls.count()).toBe(3);
    await eventually(() => widget.notice.count()).toBe(0);
    const sent = widget.postedBodies("/api/chat/").slice(3);
    expect(sent.map(({ message }) => message)).toEqual(["quick 1", "quick 2", "quick 3"]);
    const [{ session_id } = {}] = sent;
    expect(await fixture.service.readTranscriptField(session_id, "status")).toEqual(Array(6).fill("done"));
  });

  it("opens one turn for a message that was entered offline while two tabs were open", async () => {
    const widget = await fixture.visitAndOpen();
    const other = await fixture.visitAndOpen({ sameVisitorAs: widget });
    await widget.page.context().setOffline(true);
    await widget.ask("quick");
    await eventually(() => other.notice.innerText()).toContain("You are offline.");
    await widget.page.context().setOffline(false);
    await eventually(() => other.texts()).toEqual(["quick", "Done."]);
    await eventually(() => widget.texts()).toEqual(["quick", "Done."]);
    // The rating controls appear when the turn has ended.
    await Promise.all([other.ratingControls.waitFor(), widget.ratingControls.waitFor()]);
    // Both tabs send the message. Their requests have the same idempotency key, so the service opens one turn.
    const [{ session_id } = {}] = widget.postedBodies("/api/chat/");
    expect(await fixture.service.readTranscriptField(session_id, "status")).toEqual(["done", "done"]);
  });

  it("treats a proxy's error page as an unavailable service", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.mockChat({ status: 502, body: "<html>Bad gateway</html>" });
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText()).toContain("The assistant is busy right now.");
  });
});
