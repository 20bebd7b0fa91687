import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./stage.ts";

const META = ["meta", { session_id: "s", message_id: 7 }] as const;
const done = (finish_reason: string) => ["done", { finish_reason }] as const;

/** Refusals before the stream: status, code, what the visitor reads, and whether trying again is offered. */
const REFUSALS = [
  [400, "invalid_json", "This message could not be sent.", false],
  [400, "invalid_message", "This message could not be sent.", false],
  [400, "message_too_long", "This message is too long. Please keep it under 4,000 characters.", false],
  [400, "invalid_session_id", "This message could not be sent.", false],
  [401, "invalid_api_key", "This chat is not available at the moment.", false],
  [403, "origin_not_allowed", "This chat is not available at the moment.", false],
  [405, "method_not_allowed", "This message could not be sent.", false],
  [413, "payload_too_large", "This message is too long. Please keep it under 4,000 characters.", false],
  [503, "unavailable", "The assistant is busy just now. Please try again in a moment.", true],
] as const;

/** Errors within the stream. */
const FAILURES = [
  [
    "quota_exceeded",
    "The assistant cannot answer any more messages this month. Please contact us in another way.",
    false,
  ],
  ["provider_auth", "This chat is not available at the moment.", false],
  ["provider_rate_limited", "The assistant is busy just now. Please try again in a moment.", true],
  ["provider_timeout", "The answer took too long. Please try again.", true],
  ["provider_error", "Something went wrong. Please try again.", true],
  ["internal_error", "Something went wrong. Please try again.", true],
] as const;

const said = (words: string, retry: boolean) => (retry ? `${words} Try again` : words);

describeInBrowser("errors", (stage) => {
  it.each(REFUSALS)("%i %s is told in the visitor's words", async (status, code, words, retry) => {
    const widget = await stage.visitAndOpen();
    await widget.refuseChat(status, code);
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText()).toBe(said(words, retry));
    expect(await widget.texts()).toEqual(["quick"]);
    expect(await widget.violations()).toEqual([]);
  });

  it.each(FAILURES)("%s in the stream is told in the visitor's words", async (code, words, retry) => {
    const widget = await stage.visitAndOpen();
    const events: string[] = [];
    await widget.page.exposeFunction("seen", (event: string) => events.push(event));
    await widget.page.evaluate(() => {
      window.Parley?.on("error", (detail) => (window as unknown as { seen(code: string): void }).seen(detail.code));
    });
    await widget.streamChat([
      META,
      ["error", { code, message: "Raw words of the service" }],
      done(code === "quota_exceeded" ? code : "error"),
    ]);
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText()).toBe(said(words, retry));
    expect(await widget.log.innerText()).not.toContain("Raw");
    await eventually(() => events).toEqual([code]);
    expect(await widget.violations()).toEqual([]);
  });

  it("shows a blocked message's fallback instead of an answer, and lets nobody rate it", async () => {
    const { admin, system } = stage.service;
    const { slug, publicKey } = await stage.service.addBot({});
    const fallback = "Let us talk about *something else*.";
    await admin.moderation.addPattern({
      workspaceId: system.workspaceId,
      botSlug: slug,
      pattern: "weather",
      fallback,
    });
    const widget = await stage.visitAndOpen({ publicKey });
    await widget.ask("How is the weather?");
    await eventually(() => widget.texts()).toEqual(["How is the weather?", "Let us talk about something else."]);
    await eventually(() => widget.button.getAttribute("aria-label")).toBe("Send");
    expect(await widget.ratable.count()).toBe(0);
    expect(await widget.notice.count()).toBe(0);
    expect(await widget.violations()).toEqual([]);
  });

  it("sends the same text again, once, when the visitor tries again", async () => {
    const widget = await stage.visitAndOpen();
    await widget.refuseChat(503, "unavailable", { "Retry-After": "1" });
    await widget.ask("quick question");
    const retry = widget.log.getByRole("button", { name: "Try again" });
    await retry.click();
    await widget.ratable.waitFor();
    expect(await widget.texts()).toEqual(["quick question", "Done."]);
    expect(widget.posted("/api/chat/").map(({ message }) => message)).toEqual(["quick question", "quick question"]);
    expect(await widget.focused()).toBe("Your message");
  });

  it("offers to try again after a reload too", async () => {
    const widget = await stage.visitAndOpen();
    await widget.refuseChat(503, "unavailable");
    await widget.ask("quick question");
    await widget.notice.waitFor();
    await widget.page.reload();
    await widget.open();
    await widget.log.getByRole("button", { name: "Try again" }).click();
    await eventually(() => widget.texts()).toEqual(["quick question", "Done."]);
  });

  it("keeps the part of an answer that was cut off, and replaces it when tried again", async () => {
    const widget = await stage.visitAndOpen();
    await widget.streamChat([META, ["token", { text: "The first ha" }]]);
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText()).toBe("The answer was cut off. Try again");
    expect(await widget.texts()).toEqual(["quick", "The first ha"]);
    await widget.log.getByRole("button", { name: "Try again" }).click();
    await eventually(() => widget.texts()).toEqual(["quick", "Done."]);
  });

  it("takes an answer of no words for a failure", async () => {
    const widget = await stage.visitAndOpen();
    await widget.streamChat([META, done("stop")]);
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText()).toContain("Something went wrong.");
  });

  it("waits as long as Retry-After says and then sends again by itself", async () => {
    const widget = await stage.visitAndOpen();
    await widget.refuseChat(429, "rate_limited", { "Retry-After": "2" });
    // Kept by the page itself: whoever asks from outside may come too late for a second that has passed.
    const said = await widget.log.evaluateHandle((log) => {
      const notices = new Set<string>();
      new MutationObserver(() => notices.add(log.querySelector(".user .notice")?.textContent.trim() ?? "")).observe(
        log,
        {
          childList: true,
          characterData: true,
          subtree: true,
        },
      );
      return notices;
    });
    const startedAt = performance.now();
    await widget.ask("quick");
    await widget.ratable.waitFor();
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1900);
    const wait = "A lot of messages just now. Yours will be sent again in";
    expect((await said.evaluate((notices) => [...notices])).filter((notice) => notice.startsWith(wait))).toEqual([
      `${wait} 2 s. Try again`,
      `${wait} 1 s. Try again`,
    ]);
    expect(await widget.texts()).toEqual(["quick", "Done."]);
    expect(widget.posted("/api/chat/")).toHaveLength(2);
  });

  it("lets the visitor end the wait", async () => {
    const widget = await stage.visitAndOpen();
    await widget.refuseChat(429, "rate_limited", { "Retry-After": "60" });
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText()).toMatch(/sent again in \d\d s\.$/);
    expect(await widget.violations()).toEqual([]);
    await widget.button.click();
    await eventually(() => widget.notice.innerText()).toBe("Stopped. Try again");
    expect(widget.posted("/api/chat/")).toHaveLength(1);
  });

  it("gives up the waiting after a few tries", async () => {
    const widget = await stage.visitAndOpen();
    await widget.refuseChat(429, "rate_limited", { "Retry-After": "1" }, 4);
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText(), 10_000).toBe(
      "The assistant is busy just now. Please try again in a moment. Try again",
    );
    expect(widget.posted("/api/chat/")).toHaveLength(4);
  });

  it("notices that there is no network, keeps the text, and sends it when there is one", async () => {
    const widget = await stage.visitAndOpen();
    await widget.page.context().setOffline(true);
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText()).toContain("You are offline. Your message is kept");
    await widget.page.context().setOffline(false);
    await eventually(() => widget.texts()).toEqual(["quick", "Done."]);
  });

  it("sends once what was written offline, however many tabs are open", async () => {
    const widget = await stage.visitAndOpen();
    const other = await stage.visitAndOpen({ sameVisitorAs: widget });
    await widget.page.context().setOffline(true);
    await widget.ask("quick");
    await eventually(() => other.notice.innerText()).toContain("You are offline.");
    await widget.page.context().setOffline(false);
    await eventually(() => other.texts()).toEqual(["quick", "Done."]);
    expect(other.posted("/api/chat/")).toEqual([]);
    expect(widget.posted("/api/chat/")).toHaveLength(2);
  });

  it("tells a lost connection from being offline", async () => {
    const widget = await stage.visitAndOpen();
    await widget.page.route("**/api/chat/", (route) => route.abort("connectionreset"), { times: 1 });
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText()).toBe("The connection was lost. Please try again. Try again");
  });

  it("takes a proxy's page for what it is", async () => {
    const widget = await stage.visitAndOpen();
    await widget.answerChat({ status: 502, body: "<html>Bad gateway</html>" });
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText()).toContain("The assistant is busy just now.");
  });
});
