import { startWebhookReceiver, type WebhookReceiver } from "@parley/test-support";
import { afterEach, beforeEach, expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { type ConsolePage, openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

const PHONE = { width: 375, height: 812 };
const ATTEMPT_MS = 15_000;

describeInBrowser("the console's screen Webhooks", (fixture) => {
  const workspaceId = CONSOLE_WORKSPACE;
  let receiver: WebhookReceiver;
  const webhooks = () => fixture.service.admin.webhooks;
  /** Returns the receiver's webhooks: other tests have webhooks in this workspace too. */
  const listEndpoints = async () =>
    (await webhooks().listEndpoints({ workspaceId })).endpoints.filter(({ url }) => url === receiver.url);

  beforeEach(async () => {
    receiver = await startWebhookReceiver();
  });
  afterEach(async () => {
    await receiver.close();
    for (const { id } of await listEndpoints()) await webhooks().deleteEndpoint({ workspaceId, id });
  });

  /** Adds a webhook for the receiver, for events that other tests in this workspace do not cause. */
  async function addWebhook(): Promise<{ id: string; name: string }> {
    const changes = { url: receiver.url, types: { values: ["usage.month_closed"] } };
    const { endpoint, secret } = await webhooks().createEndpoint({ workspaceId, changes });
    receiver.secrets.push(secret);
    const { host, pathname } = new URL(receiver.url);
    return { id: endpoint?.id ?? "", name: host + pathname };
  }

  const delivery = (page: ConsolePage, sequence: number) =>
    page.tab.getByRole("listitem").filter({ hasText: `Number ${sequence}` });

  it("adds a webhook and shows its secret once, with the keyboard alone", async () => {
    const { page, context } = await openConsole(fixture);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const { keyboard } = page.tab;
    await page.signIn("/webhooks", "Webhooks");
    await page.tabTo("New webhook");
    await keyboard.press("Enter");

    const form = page.tab.getByRole("dialog", { name: "New webhook" });
    await eventually(() => page.focusedName()).toBe("Address");
    await keyboard.type("http://10.0.0.1/hook");
    await keyboard.press("Enter");
    await form.getByText("Address must be a public address").waitFor();
    expect(await page.field("Address").inputValue()).toBe("http://10.0.0.1/hook");
    expect(await page.findAxeViolations()).toEqual([]);
    await page.retype(receiver.url);
    await page.tabTo("Events");
    await keyboard.type("Only");
    await page.tabTo(/^A visitor rates an answer/);
    await keyboard.press("Space");
    await page.savePicture("webhooks-form");
    await page.tabTo("Add webhook");
    await keyboard.press("Enter");

    const secretDialog = page.tab.getByRole("dialog", { name: "Copy the secret now" });
    const secret = await secretDialog.locator("code").innerText();
    expect(secret).toMatch(/^whsec_/);
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture("webhooks-secret");
    await page.tabTo("Copy the secret");
    await keyboard.press("Enter");
    await eventually(() => page.tab.evaluate(() => navigator.clipboard.readText())).toBe(secret);
    await keyboard.press("Escape");
    const { host, pathname } = new URL(receiver.url);
    await page.heading(host + pathname).waitFor();
    expect(await page.tab.content()).not.toContain(secret);
    expect(await listEndpoints()).toMatchObject([
      { url: receiver.url, types: ["message.rated"], includeContent: false, disabledReason: "" },
    ]);
    expect(page.problems).toEqual([]);
  });

  it("explains why a test event failed, and sends it again, with the keyboard alone", async () => {
    const { id, name } = await addWebhook();
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/webhooks/${id}`, name);
    receiver.respond = (response) => response.writeHead(500).end("no such table: events");
    await page.tabTo("Send a test event");
    await keyboard.press("Enter");
    const result = page.tab.locator(".test-result");
    await result.getByText("The test event was not accepted.").waitFor({ timeout: ATTEMPT_MS });
    await result.getByText("Your server answered with status 500.").waitFor();
    await result.getByText("no such table: events").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture("webhooks-failed-test");
    receiver.respond = (response) => response.writeHead(204).end();
    await page.tabTo("Send again");
    await keyboard.press("Enter");
    await result.getByText(/^It works. Your server answered with status 204 after /).waitFor({ timeout: ATTEMPT_MS });
    await delivery(page, 1).getByText("Delivered").waitFor();
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
    expect(receiver.received).toHaveLength(2);
    expect(await page.findAxeViolations()).toEqual([]);
    expect(page.problems).toEqual([]);
  });

  it("shows each attempt and response, filters them, and sends one event and a range again", async () => {
    const { id, name } = await addWebhook();
    receiver.respond = (response, { body }) =>
      response.writeHead(body.sequence === 2 ? 410 : 200).end(`answer ${body.sequence}`);
    await webhooks().sendTestEvent({ workspaceId, id });
    await eventually(() => receiver.received.length, ATTEMPT_MS).toBe(1);
    const { page } = await openConsole(fixture);
    await page.signIn(`/webhooks/${id}`, name);
    await delivery(page, 1).getByText("Delivered").waitFor();
    await page.button("Send a test event").click();
    await page.tab.getByText("so Parley has disabled the webhook").waitFor({ timeout: ATTEMPT_MS });
    await delivery(page, 2).getByText("Failed").waitFor();
    expect(await page.button("Send again, Number 2").count()).toBe(0);
    await page.button("Enable").press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("The webhook was changed.");

    await page.field("Status").selectOption("Failed");
    await delivery(page, 1).waitFor({ state: "hidden" });
    await delivery(page, 2).getByText("Your server answered with status 410.").press("Enter");
    await delivery(page, 2).getByText("answer 2").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture("webhooks-log");
    receiver.respond = (response) => response.writeHead(204).end();
    await page.button("Send again, Number 2").press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("1 event is sent again.");
    await eventually(() => receiver.received.length, ATTEMPT_MS).toBe(3);

    await page.field("Status").selectOption("All");
    await delivery(page, 2).getByText("Delivered").waitFor({ timeout: ATTEMPT_MS });
    await page.button("Send a range again").press("Enter");
    await page.field("First number").fill("1");
    await page.field("Last number").fill("2");
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tab.getByRole("dialog").getByRole("button", { name: "Send again" }).press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("2 events are sent again.");
    await eventually(() => receiver.received.length, ATTEMPT_MS).toBe(5);
    await eventually(() => page.focusedName()).toBe("Send a range again");
    expect(page.problems).toEqual([]);
  });

  it("changes, disables, rotates and deletes a webhook", async () => {
    const { id, name } = await addWebhook();
    const { page } = await openConsole(fixture);
    await page.signIn("/webhooks", "Webhooks");
    await page.tab.getByRole("link", { name }).click();
    await page.heading(name).waitFor();
    await page.button("Edit").press("Enter");
    await page.tab.getByLabel(/^The usage of a month is final/).uncheck();
    expect(await page.button("Save").isDisabled()).toBe(true);
    await page.tab.getByLabel(/^An answer is complete/).check();
    await page.field("With the texts of messages").check();
    await page.field("Enabled").uncheck();
    await page.button("Save").press("Enter");
    await page.tab.getByText("The webhook is disabled. New events are not sent.").waitFor();
    expect(await listEndpoints()).toMatchObject([
      { types: ["message.completed"], includeContent: true, disabledReason: "owner" },
    ]);
    await eventually(() => page.focusedName()).toBe("Edit");

    await page.button("Replace the secret").press("Enter");
    const form = page.tab.getByRole("dialog", { name: "Replace the secret" });
    await form.getByRole("button", { name: "Replace the secret" }).press("Enter");
    const secretDialog = page.tab.getByRole("dialog", { name: "Copy the secret now" });
    expect(await secretDialog.locator("code").innerText()).toMatch(/^whsec_/);
    await page.tab.keyboard.press("Escape");
    await page.tab.getByText("The previous secret signs until").waitFor();

    await page.button("Delete").press("Enter");
    await page.tab.getByRole("alertdialog").getByRole("button", { name: "Delete" }).press("Enter");
    await page.heading("Webhooks").waitFor();
    await page.tab.getByText(name).waitFor({ state: "hidden" });
    expect(await listEndpoints()).toEqual([]);
    await page.goto(`/webhooks/${id}`);
    await page.tab.getByText("This webhook no longer exists.").waitFor();
    expect(page.problems).toEqual([]);
  });

  it("lets a viewer see a webhook and its log, and change nothing", async () => {
    const { id, name } = await addWebhook();
    await webhooks().sendTestEvent({ workspaceId, id });
    const { page } = await openConsole(fixture);
    await page.signInAs("demo-viewer", "/webhooks");
    await page.tab.getByRole("link", { name }).click();
    await delivery(page, 1).getByText("Test event").waitFor();
    await page.tab.getByText("The usage of a month is final").waitFor();
    expect(await page.tab.getByRole("main").getByRole("button").allInnerTexts()).toEqual([]);
    expect(page.problems).toEqual([]);
  });

  it.each([
    ["light", "en"],
    ["dark", "en"],
    ["light", "ar"],
  ] as const)("is accessible and fits a phone in the %s theme, in %s", async (colorScheme, locale) => {
    const { id, name } = await addWebhook();
    receiver.respond = (response) => response.writeHead(401).end('{"error":"signature"}');
    await webhooks().sendTestEvent({ workspaceId, id });
    await eventually(() => receiver.received.length, ATTEMPT_MS).toBe(1);
    const { page } = await openConsole(fixture, { colorScheme, locale });
    await page.goto("/auth/sign-in?return_to=%2Fwebhooks");
    await page.tab.getByRole("main").getByText(name).waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture(`webhooks-${colorScheme}-${locale}`);
    await page.goto(`/webhooks/${id}`);
    await page.heading(name).waitFor();
    await page.tab.locator("summary").press("Enter");
    await page.tab.getByText('{"error":"signature"}').waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture(`webhook-${colorScheme}-${locale}`);
    await page.tab.setViewportSize(PHONE);
    expect(await page.findAxeViolations()).toEqual([]);
    expect(await page.scrollsSideways()).toBe(false);
    await page.savePicture(`webhook-${colorScheme}-${locale}-phone`);
    expect(page.problems).toEqual([]);
  });
});
