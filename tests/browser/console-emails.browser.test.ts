import { randomUUID } from "node:crypto";
import { afterEach, expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("the console's screen E-mail", (fixture) => {
  const workspaceId = CONSOLE_WORKSPACE;
  const emails = () => fixture.service.admin.emails;

  afterEach(async () => {
    for (const { id } of (await emails().listRecipients({ workspaceId })).recipients)
      await emails().removeRecipient({ workspaceId, id });
  });

  it("adds, tests and removes a recipient with the keyboard alone, and announces each result", async () => {
    const address = `ada-${randomUUID().slice(0, 8)}@example.com`;
    const { page } = await openConsole(fixture, { viewport: { width: 320, height: 640 } });
    const { keyboard } = page.tab;
    await page.signIn("/emails", "E-mail");
    await page.tab.getByText("No recipient yet").waitFor();
    await page.tab.getByText("A document cannot be refreshed from its address").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tabTo("E-mail address");
    await keyboard.type("ada");
    await keyboard.press("Enter");
    await page.tab.getByText("Write an address such as ada@example.com.").waitFor();
    expect(await page.focusedName()).toBe("E-mail address");
    await page.retype(address);
    await page.tabTo("Language");
    await keyboard.type("German");
    await page.tabTo("Add recipient");
    await keyboard.press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("The recipient was added.");
    const row = page.tab.getByRole("list", { name: "Recipients" }).getByRole("listitem");
    await eventually(() => row.innerText()).toMatch(new RegExp(`^${address}\\s*German\\s*Test$`));
    expect(await page.field("E-mail address").inputValue()).toBe("");
    expect(await page.tab.locator(".input:user-invalid").count()).toBe(0);
    expect(await page.scrollsSideways()).toBe(false);
    await page.savePicture("emails-320");

    // The tests' system has an address for its mail server, but no server.
    await page.tabTo(`Send a test message to ${address}`);
    await keyboard.press("Enter");
    await eventually(() => page.announcement.innerText(), 20_000).toContain("The last message was not sent: ");
    expect(await page.focusedName()).toBe(`Send a test message to ${address}`);
    await eventually(() => row.innerText()).toContain("The last message was not sent: ");
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tabTo(`Remove ${address}`);
    await keyboard.press("Enter");
    await page.button("Remove").press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("The recipient was removed.");
    await page.tab.getByText("No recipient yet").waitFor();
    expect(await page.focusedName()).not.toBe("BODY");
    expect(page.problems).toEqual([]);
  });

  it("keeps the address that the workspace has already, and says so", async () => {
    const address = "ada@example.com";
    await emails().addRecipient({ workspaceId, address });
    const { page } = await openConsole(fixture);
    await page.signIn("/emails", "E-mail");
    await page.field("E-mail address").fill(address);
    await page.button("Add recipient").click();
    await page.tab.getByText("The workspace has this address already.").waitFor();
    expect(await page.field("E-mail address").inputValue()).toBe(address);
    expect(page.problems).toEqual([]);
  });

  it("says that the installation has no mail server, and then offers neither a form nor a test", async () => {
    const { page } = await openConsole(fixture, { colorScheme: "dark" });
    await page.replaceResponses({ body: { languages: ["en"], types: ["usage.threshold"] } }, "ListRecipients");
    await page.signIn("/emails", "E-mail");
    await page.tab.getByText("This installation has no mail server, so no e-mail is sent.").waitFor();
    expect(await page.button("Add recipient").count()).toBe(0);
    expect(await page.findAxeViolations()).toEqual([]);
    expect(page.problems).toEqual([]);
  });
});
