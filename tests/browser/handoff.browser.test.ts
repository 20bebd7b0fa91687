import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import { addHandoffBot, agentOf, askButton, endWait, startHandoff, statusOf, tell } from "./handoff-agent.ts";

describeInBrowser("a person", (fixture) => {
  it("is asked for with the keyboard alone, and exchanges messages with the visitor in each tab, until the bot answers again", async () => {
    const publicKey = await addHandoffBot(fixture);
    const { widget, agent } = await startHandoff(fixture, { publicKey });
    const announcements = await widget.recordAnnouncements();
    await askButton(widget).waitFor();
    expect(await widget.findAxeViolations()).toEqual([]);
    await widget.tabTo("Talk to a person", "Shift+Tab");
    await widget.page.keyboard.press("Enter");
    await eventually(() => statusOf(widget).innerText()).toBe("Waiting for a person…");
    expect(await widget.focusedName()).toBe("Your message");
    expect(await askButton(widget).isVisible()).toBe(false);
    expect(await widget.findAxeViolations()).toEqual([]);

    await tell(widget, "Is anybody there?");
    await agent.take();
    await eventually(() => statusOf(widget).innerText()).toBe("Anna has joined the chat.");
    await agent.type();
    await eventually(() => statusOf(widget).innerText()).toBe("Anna is writing");
    await agent.answer("Hello, I am **Anna**.");
    await eventually(() => widget.texts()).toContain("Hello, I am Anna.");
    expect(await statusOf(widget).innerText()).toBe("Anna has joined the chat.");
    expect(await widget.messages.last().getAttribute("aria-label")).toBe("Anna");
    expect(await widget.messages.last().locator("strong").innerText()).toBe("Anna");
    expect(await widget.messages.last().locator(".author").innerText()).toBe("Anna");
    expect(await widget.messages.last().locator(".rating").isVisible()).toBe(false);
    expect(await widget.findAxeViolations()).toEqual([]);
    await tell(widget, "My parcel is late.");
    await agent.answer("Which one?");
    await eventually(() => widget.texts()).toContain("Which one?");
    await tell(widget, "The blue one.");
    await agent.answer("It comes tomorrow.");
    const conversation = [
      "Is anybody there?",
      "Hello, I am Anna.",
      "My parcel is late.",
      "Which one?",
      "The blue one.",
      "It comes tomorrow.",
    ];
    await eventually(async () => (await widget.texts()).slice(2)).toEqual(conversation);
    // Screen readers read each message of the person, and never that the bot is writing.
    const heard = await announcements();
    expect(heard).toEqual([
      "Waiting for a person…",
      "Anna has joined the chat.",
      "Anna is writing",
      "Hello, I am Anna.",
      "Which one?",
      "It comes tomorrow.",
    ]);

    await widget.page.reload();
    await widget.open();
    await eventually(() => statusOf(widget).innerText()).toBe("Anna has joined the chat.");
    expect((await widget.texts()).slice(2)).toEqual(conversation);
    expect(await widget.messages.last().getAttribute("aria-label")).toBe("Anna");

    const tab = await fixture.visitAndOpen({ publicKey, sameVisitorAs: widget });
    await eventually(() => statusOf(tab).innerText()).toBe("Anna has joined the chat.");
    await agent.answer("Anything else?");
    for (const page of [widget, tab]) {
      await eventually(async () => (await page.texts()).slice(2)).toEqual([...conversation, "Anything else?"]);
    }

    await widget.page.context().setOffline(true);
    fixture.service.cutConnections();
    await agent.answer("I am still here.");
    await eventually(() => widget.panel.locator(".handoff").innerText()).toContain("You are offline.");
    await widget.page.context().setOffline(false);
    for (const page of [widget, tab]) {
      await eventually(async () => (await page.texts()).slice(8)).toEqual(["Anything else?", "I am still here."]);
    }
    expect(await widget.panel.locator(".handoff").innerText()).not.toContain("You are offline.");

    await agent.answer("Goodbye.");
    await agent.resolve();
    for (const page of [widget, tab]) {
      await eventually(() => statusOf(page).innerText()).toBe("Anna has left the chat. The assistant answers again.");
      expect((await page.texts()).at(-1)).toBe("Goodbye.");
      expect(await askButton(page).isVisible()).toBe(true);
    }
    await widget.askAndWait("quick question");
    expect(await widget.messages.last().getAttribute("aria-label")).toBe("Sample Shop");
    await eventually(() => statusOf(widget).innerText()).toBe("");
    await eventually(async () => (await tab.texts()).length).toBe(13);
    expect(widget.problems.filter((problem) => !problem.includes("ERR_"))).toEqual([]);
  });

  it("who takes over unasked is shown after the visitor's next message, and after a reload, also without the button", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick question");
    const agent = agentOf(fixture, widget);
    await agent.take();
    await widget.ask("hello?");
    await eventually(() => statusOf(widget).innerText()).toBe("Anna has joined the chat.");
    await agent.answer("I have taken over.");
    await eventually(() => widget.texts()).toContain("I have taken over.");
    await widget.page.reload();
    await widget.open();
    await eventually(() => statusOf(widget).innerText()).toBe("Anna has joined the chat.");
    await agent.answer("After the reload.");
    await eventually(async () => (await widget.texts()).slice(2)).toEqual([
      "hello?",
      "I have taken over.",
      "After the reload.",
    ]);
    await agent.resolve();
    await eventually(() => statusOf(widget).innerText()).toBe("Anna has left the chat. The assistant answers again.");
    expect(await askButton(widget).isVisible()).toBe(false);
    expect(widget.problems).toEqual([]);
  });

  it("who takes over while the bot writes is shown at once in each tab, with what the bot has written", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick question");
    const tab = await fixture.visitAndOpen({ sameVisitorAs: widget });
    const agent = agentOf(fixture, widget);
    await widget.ask("slow 400");
    await eventually(async () => (await widget.texts()).at(-1)).toContain("word2");
    await agent.take();
    for (const page of [widget, tab]) {
      await eventually(() => statusOf(page).innerText()).toBe("Anna has joined the chat.");
      expect((await page.texts()).at(-1)).toMatch(/^word1 word2/);
      expect(await page.notice.count()).toBe(0);
    }
    await agent.answer("I have taken over.");
    for (const page of [widget, tab]) {
      await eventually(async () => (await page.texts()).at(-1)).toBe("I have taken over.");
    }
    expect(await widget.findAxeViolations()).toEqual([]);
    expect(widget.problems).toEqual([]);
  });

  it("who does not answer in time leaves, and the bot answers again", async () => {
    const publicKey = await addHandoffBot(fixture);
    const { widget, agent } = await startHandoff(fixture, { publicKey });
    await agent.take();
    await tell(widget, "Hello?");
    await eventually(() => statusOf(widget).innerText()).toBe("Anna has joined the chat.");
    await endWait(fixture, widget);
    const end = "Anna has left the chat. Nobody is available right now. The assistant answers again.";
    await eventually(() => statusOf(widget).innerText(), 30_000).toBe(end);
    expect(await widget.findAxeViolations()).toEqual([]);
    await widget.askAndWait("quick question");
    await eventually(() => statusOf(widget).innerText()).toBe("");
  });

  it("counts as an unread message while the panel is closed, and leaves with a new conversation", async () => {
    const publicKey = await addHandoffBot(fixture);
    const { widget, agent } = await startHandoff(fixture, { publicKey });
    await askButton(widget).click();
    await agent.take();
    await eventually(() => statusOf(widget).innerText()).toBe("Anna has joined the chat.");
    await widget.page.evaluate(() => window.Parley?.close());
    await agent.answer("Are you there?");
    await eventually(() => widget.launcher.locator(".badge").innerText()).toBe("1");
    await widget.open();
    await widget.panel.getByRole("button", { name: "New conversation" }).click();
    await eventually(() => widget.panel.locator(".handoff").isVisible()).toBe(false);
    await agent.answer("Lost.");
    await widget.panel.getByRole("button", { name: "Back to the earlier conversation" }).click();
    await eventually(() => widget.texts()).toContain("Lost.");
    await eventually(() => statusOf(widget).innerText()).toBe("Anna has joined the chat.");
  });

  it("is not there outside of the hours, and no request is sent without a handoff", async () => {
    const publicKey = await addHandoffBot(fixture, { handoffHours: { values: ["mon 00:00-00:01"] } });
    const { widget } = await startHandoff(fixture, { publicKey });
    await askButton(widget).click();
    await eventually(() => statusOf(widget).innerText()).toBe("Nobody is available right now.");
    expect(await askButton(widget).isVisible()).toBe(true);
    expect(await widget.findAxeViolations()).toEqual([]);

    const plain = await fixture.visitAndOpen();
    await plain.askAndWait("quick question");
    await plain.page.reload();
    await plain.open();
    await plain.askAndWait("quick question");
    expect(plain.requestedPaths().filter((path) => /handoff|live/.test(path))).toEqual([]);
  });
});
