import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import { reply } from "./widget-page.ts";

describeInBrowser("a refusal that asks for something before the message", (fixture) => {
  it("shows the notice if the gate cannot be loaded; trying again sends the same message", async () => {
    const widget = await fixture.visitAndOpen({
      prepare: (page) => page.route("**/widget/gate.*", (route) => route.abort()),
    });
    await widget.streamChat(reply("Yes"));
    await widget.refuseChat(403, "consent_required");
    await widget.ask("quick question");
    await eventually(() => widget.notice.innerText()).toMatch(/^Something went wrong\. Please try again\. Try again/);
    expect(await widget.texts()).toEqual(["quick question"]);
    expect(widget.requestedPaths().filter((path) => path.startsWith("/widget/gate."))).toHaveLength(1);
    await widget.notice.getByRole("button", { name: "Try again" }).click();
    await eventually(() => widget.texts()).toEqual(["quick question", "Yes"]);
    const keys = widget.requests
      .filter((request) => request.method() === "POST" && request.url().endsWith("/api/chat/"))
      .map((request) => request.headers()["idempotency-key"]);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(widget.problems).toEqual([]);
  });
});
