import type { Route } from "playwright-core";
import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import { addHandoffBot, askButton, startHandoff, statusOf, tell } from "./handoff-agent.ts";

describeInBrowser("a visitor who waits for a person", (fixture) => {
  it("reads after the wait that nobody is available, also after a reload during the wait, and gets the bot's answers", async () => {
    const publicKey = await addHandoffBot(fixture, { handoffWaitSeconds: 10 });
    const { widget } = await startHandoff(fixture, { publicKey });
    const announcements = await widget.recordAnnouncements();
    await askButton(widget).click();
    await eventually(() => statusOf(widget).innerText(), 20_000).toBe("Nobody is available right now.");
    expect(await announcements()).toEqual([
      "Waiting for a person…",
      "Nobody is available right now. / Leave a message, and the team answers by e-mail.",
    ]);
    await askButton(widget).click();
    await eventually(() => statusOf(widget).innerText()).toBe("Waiting for a person…");
    await tell(widget, "Please come.");
    await widget.page.goto("about:blank");
    await widget.page.waitForTimeout(13_000);
    await widget.page.goBack();
    await widget.open();
    await eventually(() => statusOf(widget).innerText()).toBe("Nobody is available right now.");
    expect(await widget.findAxeViolations()).toEqual([]);
    await widget.askAndWait("quick question");
    await eventually(() => statusOf(widget).innerText()).toBe("");
    expect((await widget.texts()).slice(-3)).toEqual(["Please come.", "quick question", (await widget.texts())[1]]);
    // The visitor has read how it ended.
    await widget.page.reload();
    await widget.open();
    await askButton(widget).waitFor();
    await widget.page.waitForTimeout(1_000);
    expect(await statusOf(widget).innerText()).toBe("");
    expect(widget.problems).toEqual([]);
  });

  it("sees a notice and can ask again if the request fails", async () => {
    const publicKey = await addHandoffBot(fixture);
    const { widget, agent } = await startHandoff(fixture, { publicKey });
    await widget.page.route("**/api/chat/handoff/", (route) => route.fulfill({ status: 503, body: "{}" }), {
      times: 1,
    });
    await askButton(widget).click();
    await eventually(() => widget.panel.locator(".handoff").innerText()).toContain("Something went wrong.");
    await askButton(widget).click();
    await eventually(() => statusOf(widget).innerText()).toBe("Waiting for a person…");
    expect(await widget.panel.locator(".handoff").innerText()).not.toContain("Something went wrong.");
    await agent.take();
    await eventually(() => statusOf(widget).innerText()).toBe("Anna has joined the chat.");
  });

  it("sees the newest of many messages, unless the visitor reads an earlier one", async () => {
    const publicKey = await addHandoffBot(fixture);
    const { widget, agent } = await startHandoff(fixture, { publicKey });
    await askButton(widget).click();
    await agent.take();
    await tell(widget, "My parcel is late.");
    const log = widget.panel.locator(".log");
    const hiddenPx = () => log.evaluate((each) => each.scrollHeight - each.scrollTop - each.clientHeight);
    for (let number = 1; number <= 12; number++) {
      await agent.answer(`Answer ${number}`);
      await eventually(async () => (await widget.texts()).at(-1)).toBe(`Answer ${number}`);
    }
    await eventually(hiddenPx).toBeLessThan(2);
    await log.evaluate((each) => {
      each.scrollTop = 0;
    });
    await agent.answer("The last answer");
    await eventually(async () => (await widget.texts()).at(-1)).toBe("The last answer");
    expect(await log.evaluate((each) => each.scrollTop)).toBe(0);
  });

  it("waits although the response to the request was lost", async () => {
    const publicKey = await addHandoffBot(fixture);
    const { widget } = await startHandoff(fixture, { publicKey });
    const lose = async (route: Route) => {
      await route.fetch();
      await route.abort();
    };
    await widget.page.route("**/api/chat/handoff/", lose, { times: 1 });
    await askButton(widget).click();
    await eventually(() => statusOf(widget).innerText()).toBe("Waiting for a person…");
  });

  it("sees a notice, and can ask again, if the person's messages can no longer be followed", async () => {
    const publicKey = await addHandoffBot(fixture);
    const { widget, agent } = await startHandoff(fixture, { publicKey });
    await askButton(widget).click();
    await agent.take();
    await eventually(() => statusOf(widget).innerText()).toBe("Anna has joined the chat.");
    const live = "**/api/chat/live/**";
    await widget.page.route(live, (route) => route.fulfill({ status: 401, json: { error: "invalid_visitor_token" } }));
    fixture.service.cutConnections();
    await eventually(() => widget.panel.locator(".handoff").innerText()).toContain("Something went wrong.");
    await widget.page.unroute(live);
    await askButton(widget).click();
    await eventually(() => statusOf(widget).innerText()).toBe("Anna has joined the chat.");
    expect(await widget.panel.locator(".handoff").innerText()).not.toContain("Something went wrong.");
  });
});
