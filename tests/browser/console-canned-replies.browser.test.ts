import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addHandoffBot, startVisitor } from "./console-handoff.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("canned replies in the console", (fixture) => {
  const workspaceId = CONSOLE_WORKSPACE;
  const cannedReplies = () => fixture.service.admin.cannedReplies;

  it("are added, changed and removed with the keyboard alone", async () => {
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn("/canned-replies", "Canned replies");
    await page.tab.getByText("No canned reply yet").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tabTo("New canned reply");
    await keyboard.press("Enter");
    await eventually(() => page.focusedName()).toBe("Name");
    await keyboard.type("Opening hours");
    await page.tabTo("Text");
    await keyboard.type("We open at **seven**.");
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture("new-canned-reply");
    await page.tabTo("Save");
    await keyboard.press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("The canned reply was saved.");
    const rows = page.tab.getByRole("list", { name: "Canned replies" }).getByRole("listitem");
    await eventually(() => rows.allInnerTexts()).toEqual([expect.stringContaining("We open at **seven**.")]);
    await page.savePicture("canned-replies");

    await page.tabTo(/^Edit .*Opening hours/);
    await keyboard.press("Enter");
    await page.tabTo("Text");
    await page.retype("We open at eight.");
    await page.tabTo("Save");
    await keyboard.press("Enter");
    await eventually(() => rows.allInnerTexts()).toEqual([expect.stringContaining("We open at eight.")]);
    await page.tabTo(/^Remove .*Opening hours/);
    await keyboard.press("Enter");
    await page.button("Remove").press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("The canned reply was removed.");
    await page.tab.getByText("No canned reply yet").waitFor();
    expect(page.problems).toEqual([]);
  }, 60_000);

  it("are found by / in the inbox, and inserted for the agent to change and send", async () => {
    const replies = [
      { name: "Café", text: "Our café is **behind** the shop." },
      { name: "Goodbye", text: "/bye is not a command here." },
      { name: "Opening hours", text: "We open at seven, the café at eight." },
    ];
    for (const reply of replies) await cannedReplies().addCannedReply({ workspaceId, ...reply });
    const visitor = await startVisitor(fixture, await addHandoffBot(fixture));
    await visitor.say("Hello");
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/inbox/${visitor.sessionId}`, visitor.id);
    await page.button("Take").click();
    const field = page.field("Your answer");
    await field.press("/");
    const options = page.tab.getByRole("option");
    await eventually(() => options.locator("strong").allInnerTexts()).toEqual(replies.map(({ name }) => name));
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture("canned-reply-list");
    await keyboard.type("CAFE");
    await eventually(() => options.locator("strong").allInnerTexts()).toEqual(["Café", "Opening hours"]);
    await page.tab.getByText("Canned replies found: 2").waitFor();
    const active = () => page.tab.locator("[role=option][aria-selected=true] strong").innerText();
    expect(await active()).toBe("Café");
    await keyboard.press("ArrowUp");
    await eventually(active).toBe("Opening hours");
    const id = await options.last().getAttribute("id");
    expect(await field.getAttribute("aria-activedescendant")).toBe(id);
    await keyboard.press("ArrowDown");
    await eventually(active).toBe("Café");
    await keyboard.press("Enter");
    await eventually(() => field.inputValue()).toBe("Our café is **behind** the shop.");
    expect(await options.count()).toBe(0);
    await keyboard.type(" Ask for Ada.");
    await keyboard.press("Enter");
    await page.tab.locator(".markdown", { hasText: "Our café is behind the shop. Ask for Ada." }).waitFor();
    await eventually(() => field.inputValue()).toBe("");

    await keyboard.type("/good");
    await options.first().click();
    await eventually(() => field.inputValue()).toBe("/bye is not a command here.");
    expect(await page.focusedName()).toBe("Your answer");
    await keyboard.press("Enter");
    await page.tab.locator(".markdown", { hasText: "/bye is not a command here." }).waitFor();
    await keyboard.type("/open");
    await options.first().waitFor();
    await keyboard.press("Escape");
    await eventually(() => options.count()).toBe(0);
    await field.fill("");
    await keyboard.type("/nothing");
    await page.tab.getByText("No canned reply matches").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    expect(page.problems).toEqual([]);
  }, 60_000);
});
