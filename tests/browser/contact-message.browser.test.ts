import { queryRows } from "@parley/test-support";
import { expect, it } from "vitest";
import { type BrowserFixture, describeInBrowser, eventually } from "./fixture.ts";
import { addHandoffBot, agentOf, askButton, endWait, startHandoff, statusOf } from "./handoff-agent.ts";
import type { WidgetPage } from "./widget-page.ts";

/** A minute of the week that is over, so that nobody is there. */
const CLOSED = { handoffHours: { values: ["mon 00:00-00:01"] } };
const NOBODY = "Nobody is available right now.";
const SENT = "Your message was sent. The team answers by e-mail.";
const PATH = "/api/chat/contact/";

const formOf = (widget: WidgetPage) => widget.panel.locator(".contact");
const emailOf = (widget: WidgetPage) => formOf(widget).locator("input");
const textOf = (widget: WidgetPage) => formOf(widget).locator("textarea");
const sendOf = (widget: WidgetPage) => formOf(widget).locator("[type=submit]");

/** Opens the widget of a bot outside of its hours, and asks for a person. */
async function startContact(fixture: BrowserFixture, visit: Parameters<typeof startHandoff>[1] = {}) {
  const publicKey = await addHandoffBot(fixture, CLOSED);
  const { widget } = await startHandoff(fixture, { publicKey, ...visit });
  await askButton(widget).click();
  await formOf(widget).waitFor();
  return widget;
}

/** Returns the stored contact messages of the widget's session. */
async function readStored({ service }: BrowserFixture, widget: WidgetPage) {
  const session = widget.postedBodies("/api/chat/")[0]?.session_id;
  const [row] = await queryRows(
    service.system.databaseUrl,
    "SELECT coalesce(contact_messages, '[]') AS messages FROM conversation.sessions WHERE session_id = $1",
    [session],
  );
  return (row as { messages: { email: string; message: string }[] }).messages;
}

describeInBrowser("a visitor for whom nobody is there", (fixture) => {
  it("leaves a message with the keyboard alone, and reads after a reload that it was sent", async () => {
    const publicKey = await addHandoffBot(fixture, CLOSED);
    const { widget } = await startHandoff(fixture, { publicKey });
    const { keyboard } = widget.page;
    const announcements = await widget.recordAnnouncements();
    await askButton(widget).waitFor();
    await widget.tabTo("Talk to a person", "Shift+Tab");
    await keyboard.press("Enter");
    await eventually(() => statusOf(widget).innerText()).toBe(NOBODY);
    expect(await widget.focusedName()).toBe("Talk to a person");
    expect(await widget.findAxeViolations()).toEqual([]);

    await widget.tabTo("E-mail address");
    await keyboard.type("ada");
    await widget.tabTo("Send");
    await keyboard.press("Enter");
    expect(await widget.focusedName()).toBe("E-mail address");
    const faults = () => formOf(widget).locator("[aria-invalid=true]");
    expect(await faults().count()).toBe(2);
    expect(await emailOf(widget).getAttribute("aria-describedby")).toBe("contact-email-error");
    expect(await formOf(widget).locator("#contact-email-error").innerText()).toBe(
      "Enter an e-mail address like name@example.com.",
    );
    expect(await formOf(widget).locator("#contact-text-error").innerText()).toBe("Write a message first.");
    // Enter in the field submits the form, and the focus does not move.
    await keyboard.press("Enter");
    await eventually(async () => (await announcements()).at(-1)).toBe("Enter an e-mail address like name@example.com.");
    expect(await widget.findAxeViolations()).toEqual([]);
    await keyboard.type("@example.com");
    await keyboard.press("Tab");
    expect(await widget.focusedName()).toBe("Message for the team");
    await keyboard.type("Where is my order?");
    await keyboard.press("Enter");
    await keyboard.type("It is late.");
    expect(await faults().count()).toBe(0);
    await keyboard.press("Tab");
    await keyboard.press("Enter");
    await eventually(() => statusOf(widget).innerText()).toBe(SENT);
    expect(await formOf(widget).isVisible()).toBe(false);
    expect(await widget.focusedName()).toBe("Your message");
    expect(await readStored(fixture, widget)).toMatchObject([
      { email: "ada@example.com", message: "Where is my order?\nIt is late." },
    ]);
    expect((await announcements()).at(-1)).toBe(SENT);
    expect(await widget.findAxeViolations()).toEqual([]);

    await widget.askAndWait("quick question");
    expect(await statusOf(widget).innerText()).toBe(SENT);
    await widget.page.reload();
    await widget.open();
    await eventually(() => statusOf(widget).innerText()).toBe(SENT);
    // A second message is possible: the address may have been wrong.
    await askButton(widget).click();
    await formOf(widget).waitFor();
    expect([await emailOf(widget).inputValue(), await textOf(widget).inputValue()]).toEqual(["", ""]);
    await formOf(widget).getByRole("button", { name: "Not now" }).click();
    expect(await formOf(widget).isVisible()).toBe(false);
    const later = await widget.recordAnnouncements();
    await askButton(widget).click();
    await formOf(widget).waitFor();
    expect(await later()).toEqual([`${NOBODY} / Leave a message, and the team answers by e-mail.`]);
    expect(widget.problems).toEqual([]);
  });

  it("gets the form when nobody comes in time, and keeps the texts while the panel is closed and the chat goes on", async () => {
    const publicKey = await addHandoffBot(fixture);
    const { widget } = await startHandoff(fixture, { publicKey });
    await askButton(widget).click();
    await eventually(() => statusOf(widget).innerText()).toBe("Waiting for a person…");
    expect(await formOf(widget).isVisible()).toBe(false);
    await endWait(fixture, widget);
    await eventually(() => statusOf(widget).innerText(), 30_000).toBe(NOBODY);
    await emailOf(widget).fill("ada@example.com");
    await textOf(widget).fill("Hello");
    await widget.page.evaluate(() => window.Parley?.close());
    await widget.open();
    expect([await emailOf(widget).inputValue(), await textOf(widget).inputValue()]).toEqual([
      "ada@example.com",
      "Hello",
    ]);
    await widget.askAndWait("quick question");
    expect(await textOf(widget).inputValue()).toBe("Hello");
    expect(await formOf(widget).isVisible()).toBe(true);
    await sendOf(widget).click();
    await eventually(() => statusOf(widget).innerText()).toBe(SENT);
    await widget.panel.getByRole("button", { name: "New conversation" }).click();
    await eventually(() => widget.panel.locator(".handoff").isVisible()).toBe(false);
    expect(widget.problems).toEqual([]);
  });

  it("keeps the form and the focus in it while the bot replies to an earlier message", async () => {
    const publicKey = await addHandoffBot(fixture, CLOSED);
    const { widget } = await startHandoff(fixture, { publicKey });
    const held = Promise.withResolvers<void>();
    await widget.page.route("**/api/chat/", (route) => held.promise.then(() => route.continue()));
    await widget.ask("quick question");
    await askButton(widget).click();
    await formOf(widget).waitFor();
    await emailOf(widget).focus();
    held.resolve();
    await widget.ratingControls.nth(1).waitFor();
    expect(await widget.focusedName()).toBe("E-mail address");
    // Without a text and the focus, the form ends with the state.
    await widget.askAndWait("quick question");
    expect(await formOf(widget).isVisible()).toBe(false);
    expect(widget.problems).toEqual([]);
  });

  it("keeps the focus in the panel when the form is sent from its text field by touch", async () => {
    const context = { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true };
    const widget = await startContact(fixture, { context });
    await emailOf(widget).fill("ada@example.com");
    await textOf(widget).fill("Hello");
    // As on an iPhone, where a tap on a button leaves the focus in the field.
    await sendOf(widget).evaluate((button: HTMLButtonElement) => button.click());
    await eventually(() => statusOf(widget).innerText()).toBe(SENT);
    await eventually(() => widget.panel.evaluate((panel) => panel.matches(":focus"))).toBe(true);
  });

  it("sees a person who takes the conversation while the message is sent", async () => {
    const widget = await startContact(fixture);
    const agent = agentOf(fixture, widget);
    await emailOf(widget).fill("ada@example.com");
    await textOf(widget).fill("Hello");
    await widget.page.route(
      `**${PATH}`,
      async (route) => {
        await agent.take();
        await route.continue();
      },
      { times: 1 },
    );
    await sendOf(widget).click();
    await eventually(() => statusOf(widget).innerText()).toBe("Anna has joined the chat.");
    expect(await formOf(widget).isVisible()).toBe(false);
    expect(await readStored(fixture, widget)).toMatchObject([{ message: "Hello" }]);
    await agent.answer("I am here now.");
    await eventually(() => widget.texts()).toContain("I am here now.");
    expect(widget.problems).toEqual([]);
  });

  it("reads why a message was not sent, and sends the same text once", async () => {
    const widget = await startContact(fixture);
    const error = formOf(widget).locator("> .contact-error");
    const expectRefused = async (text: string) => {
      await sendOf(widget).click();
      await eventually(() => error.innerText()).toBe(text);
      expect(await textOf(widget).inputValue()).toBe("Hello");
      expect(await widget.findAxeViolations()).toEqual([]);
    };
    await emailOf(widget).fill("ada@localhost");
    await textOf(widget).fill("x".repeat(4_002));
    await sendOf(widget).click();
    expect(await formOf(widget).locator("#contact-text-error").innerText()).toBe("Excess characters: 2");
    await textOf(widget).fill("Hello");
    // The browser accepts this address, and the service does not.
    await sendOf(widget).click();
    await eventually(() => formOf(widget).locator("#contact-email-error").innerText()).toContain("name@example.com");
    expect(await widget.focusedName()).toBe("E-mail address");
    await emailOf(widget).fill("ada@example.com");

    await widget.page.context().setOffline(true);
    await expectRefused("You are offline. The chat continues when you are online again.");
    await widget.page.context().setOffline(false);
    await widget.page.route(`**${PATH}`, (route) => route.fulfill({ status: 503, body: "{}" }), { times: 1 });
    await expectRefused("Something went wrong. Please try again.");
    // The message arrives, but both responses are lost.
    await widget.page.route(
      `**${PATH}`,
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 2 },
    );
    await expectRefused("The connection was lost. Please try again.");
    await sendOf(widget).click();
    await eventually(() => statusOf(widget).innerText()).toBe(SENT);
    expect(await readStored(fixture, widget)).toMatchObject([{ email: "ada@example.com", message: "Hello" }]);

    for (const text of ["Second", "Third"]) {
      await askButton(widget).click();
      await emailOf(widget).fill("ada@example.com");
      await textOf(widget).fill(text);
      await sendOf(widget).click();
      await formOf(widget).waitFor({ state: "hidden" });
    }
    await askButton(widget).click();
    await emailOf(widget).fill("ada@example.com");
    await textOf(widget).fill("Hello");
    await expectRefused("You have already left three messages. The team answers by e-mail.");
    expect(await readStored(fixture, widget)).toHaveLength(3);
  });

  it("reads that a message was sent whose response was lost and that the team has answered since", async () => {
    const widget = await startContact(fixture);
    await emailOf(widget).fill("ada@example.com");
    await textOf(widget).fill("Hello");
    const sent: { request_id: string }[] = [];
    await widget.page.route(
      `**${PATH}`,
      async (route) => {
        sent.push(route.request().postDataJSON());
        await route.fetch();
        await route.abort();
      },
      { times: 2 },
    );
    await sendOf(widget).click();
    await eventually(() => formOf(widget).locator("> .contact-error").innerText()).toContain("connection was lost");
    await agentOf(fixture, widget).finishContact(sent[0]?.request_id ?? "");
    await sendOf(widget).click();
    await eventually(() => statusOf(widget).innerText()).toBe(SENT);
    expect(await readStored(fixture, widget)).toHaveLength(1);
  });

  it("cannot change the texts while they are sent, and sends any characters that can be pasted", async () => {
    const widget = await startContact(fixture);
    await emailOf(widget).fill("ada@example.com");
    await textOf(widget).evaluate((field: HTMLTextAreaElement) => {
      field.value = " Hi\0 \ud800 you\udc00 😀 ";
    });
    const held = Promise.withResolvers<void>();
    await widget.page.route(
      `**${PATH}`,
      (route) => held.promise.then(() => route.fulfill({ status: 503, body: "{}" })),
      {
        times: 1,
      },
    );
    await textOf(widget).focus();
    await sendOf(widget).click();
    await textOf(widget).press("End");
    await widget.page.keyboard.type("lost");
    await emailOf(widget).press("End");
    await widget.page.keyboard.type("m");
    held.resolve();
    await eventually(() => formOf(widget).locator("> .contact-error").innerText()).toContain("went wrong");
    expect(await emailOf(widget).inputValue()).toBe("ada@example.com");
    expect(await textOf(widget).inputValue()).not.toContain("lost");
    expect(await textOf(widget).isEditable()).toBe(true);
    await sendOf(widget).click();
    await eventually(() => statusOf(widget).innerText()).toBe(SENT);
    expect(await readStored(fixture, widget)).toMatchObject([{ message: "Hi \ufffd you\ufffd 😀" }]);
  });

  it("fits a phone, a small window, the dark theme, forced colours and Arabic", async () => {
    const looks = {
      light: {},
      dark: { attributes: { "data-theme": "dark" } },
      phone: { context: { viewport: { width: 375, height: 667 } } },
      small: { context: { viewport: { width: 320, height: 256 } } },
      forced: { context: { forcedColors: "active" } },
      arabic: { htmlAttributes: 'lang="ar" dir="rtl"' },
    } as const;
    for (const [look, visit] of Object.entries(looks)) {
      const widget = await startContact(fixture, visit);
      await emailOf(widget).fill("ada");
      await textOf(widget).fill("Where is my order?");
      await sendOf(widget).click();
      await sendOf(widget).scrollIntoViewIfNeeded();
      expect(await widget.findAxeViolations(), look).toEqual([]);
      const box = widget.panel.locator(".handoff");
      expect(await box.evaluate((each) => each.scrollWidth - each.clientWidth), look).toBe(0);
      expect(widget.problems).toEqual([]);
    }
  }, 90_000);
});
