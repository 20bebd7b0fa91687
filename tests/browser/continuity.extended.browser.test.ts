import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import { slowReply } from "./replies.ts";

describeInBrowser("continuity", (fixture) => {
  it("shows a running answer in a second tab, and does not stop it when the first tab is closed", async () => {
    const first = await fixture.visitAndOpen();
    // The second tab must be open before the answer is complete.
    await first.ask("slow 200");
    await eventually(() => first.answers.innerText()).toContain("word5");
    const second = await fixture.visitAndOpen({ sameVisitorAs: first });
    await eventually(() => second.answers.innerText()).toContain("word10");
    await first.page.close();
    await second.ratingControls.waitFor();
    expect(await second.texts()).toEqual(["slow 200", slowReply(200)]);
    await fixture.expectOneTurn([first, second]);
  });

  it("continues an answer after a network outage", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.ask("slow 100");
    await eventually(() => widget.answers.innerText()).toContain("word5");
    await widget.page.context().setOffline(true);
    fixture.service.cutConnections();
    await eventually(() => widget.notice.innerText()).toContain("You are offline.");
    await widget.page.context().setOffline(false);
    await widget.ratingControls.waitFor();
    expect(await widget.texts()).toEqual(["slow 100", slowReply(100)]);
    await fixture.expectOneTurn([widget]);
  });
});
