import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import type { WidgetPage } from "./widget-page.ts";

const META = ["meta", { session_id: "s", message_id: 7 }] as const;

/** Advances the page's clock past the waits between its requests, until the notice is shown. */
async function untilNotice(widget: WidgetPage, text: string): Promise<void> {
  await expect
    .poll(
      async () => {
        await widget.page.clock.runFor(4_000);
        return (await widget.notice.allInnerTexts()).join();
      },
      // Responses arrive in real time: leave 200 ms for them between two advances.
      { timeout: 30_000, interval: 200 },
    )
    .toBe(text);
}

describeInBrowser("errors", (fixture) => {
  it("keeps the received part of an answer if every attempt is cut off, and replaces it when the visitor tries again", async () => {
    const widget = await fixture.visitAndOpen({ prepare: (page) => page.clock.install() });
    // Playwright uses the mock that was added last, so one partial answer comes first, then up to 20 answers without text.
    await widget.streamChat([META], 20);
    await widget.streamChat([META, ["token", { text: "The first ha" }]]);
    await widget.ask("quick");
    await untilNotice(widget, "The answer was cut off. Try again");
    expect(await widget.texts()).toEqual(["quick", "The first ha"]);
    await widget.page.unroute("**/api/chat/");
    await widget.log.getByRole("button", { name: "Try again" }).click();
    await eventually(() => widget.texts()).toEqual(["quick", "Done."]);
  });

  it("shows an error after four rate-limited attempts", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.refuseChat(429, "rate_limited", { "Retry-After": "1" }, 4);
    await widget.ask("quick");
    await eventually(() => widget.notice.innerText(), 20_000).toBe(
      "The assistant is busy right now. Please try again in a moment. Try again",
    );
    expect(widget.postedBodies("/api/chat/")).toHaveLength(4);
  });

  it("reports a lost connection if the connection of every request is reset", async () => {
    const widget = await fixture.visitAndOpen({ prepare: (page) => page.clock.install() });
    await widget.page.route("**/api/chat/", (route) => route.abort("connectionreset"));
    await widget.ask("quick");
    await untilNotice(widget, "The connection was lost. Please try again. Try again");
  });
});
