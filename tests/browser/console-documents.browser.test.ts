import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot } from "./console-bot.ts";
import { type ConsolePage, openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

const focusedText = (page: ConsolePage) =>
  page.tab.evaluate(() => {
    const element = document.activeElement as HTMLElement | null;
    return element?.ariaLabel || element?.innerText || element?.id || element?.tagName;
  });

describeInBrowser("a bot's documents in the console", (fixture) => {
  const botOf = (botSlug: string) => ({ workspaceId: CONSOLE_WORKSPACE, botSlug });
  const addTexts = async (botSlug: string, names: readonly string[]) => {
    for (const name of names) {
      const content = Buffer.from(`# ${name}\n\nText of ${name}.`);
      await fixture.service.admin.knowledge.addSource({ ...botOf(botSlug), name, format: "md", content });
    }
  };
  const listNames = async (botSlug: string) =>
    (await fixture.service.admin.knowledge.listSources(botOf(botSlug))).sources.map(({ name }) => name);

  it("are read, edited, renamed and removed with the keyboard alone, and the focus stays on the screen", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    await page.tab.getByRole("link", { name: "delivery.md" }).waitFor();
    await page.tabTo("delivery.md");
    await keyboard.press("Enter");
    await page.heading("delivery.md").waitFor();
    await page.tab.getByText("We deliver bread every morning before seven.").waitFor();
    expect(await page.tab.evaluate(() => document.activeElement?.id)).toBe("main");

    await page.tabTo("Edit");
    await keyboard.press("Enter");
    const text = page.tab.getByRole("textbox", { name: "Text" });
    await text.waitFor();
    expect(await text.inputValue()).toBe("# Delivery\n\nWe deliver bread every morning before seven.");
    expect(await text.evaluate((element) => element.matches(":focus"))).toBe(true);
    expect(await page.findAxeViolations()).toEqual([]);
    await page.retype("# Delivery\n\nWe deliver until noon.");
    await page.tabTo("Save");
    await keyboard.press("Enter");
    await eventually(() => page.announcement.innerText()).toContain("Saved.");
    await page.tab.getByText("We deliver until noon.").waitFor();
    await eventually(() => focusedText(page)).toBe("Edit");

    await page.tabTo("Rename");
    await keyboard.press("Enter");
    await page.tab.getByRole("dialog", { name: "Rename the document" }).waitFor();
    await page.retype("delivery-times.md");
    await keyboard.press("Enter");
    await page.heading("delivery-times.md").waitFor();
    await page.tab.getByText("We deliver until noon.").waitFor();
    await eventually(() => focusedText(page)).toBe("Rename");
    expect(await listNames(bot)).toEqual(["delivery-times.md"]);

    await page.tabTo("Remove");
    await keyboard.press("Enter");
    await page.tab.getByRole("alertdialog").waitFor();
    await page.tabTo("Remove");
    await keyboard.press("Enter");
    await page.heading("Knowledge").waitFor();
    await page.tab.getByText("No document yet").waitFor();
    expect(await page.tab.evaluate(() => document.activeElement?.id)).toBe("main");
    expect(page.problems).toEqual([]);
  });

  it("are found by name, selected and removed together with one confirmation", async () => {
    const bot = await addBot(fixture.service);
    await addTexts(bot, ["hours-1.md", "hours-2.md", "hours-3.md"]);
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    await page.field("Search by name").waitFor();
    await page.tabTo("Search by name");
    await keyboard.type("HOURS");
    await eventually(() =>
      page.tab
        .getByRole("list", { name: /^Documents/ })
        .getByRole("link")
        .allInnerTexts(),
    ).toEqual(["hours-1.md", "hours-2.md", "hours-3.md"]);
    await page.tabTo("Select all");
    await keyboard.press("Space");
    await page.tabTo("Select hours-2.md");
    await keyboard.press("Space");
    await page.tabTo("Remove 2 documents", "Shift+Tab");
    expect(await page.findAxeViolations()).toEqual([]);
    await keyboard.press("Enter");
    const dialog = page.tab.getByRole("alertdialog", { name: "Remove 2 documents?" });
    expect(await dialog.innerText()).toContain("“hours-1.md” and “hours-3.md”");
    await page.tabTo("Remove");
    await keyboard.press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("2 documents were removed.");
    await eventually(() => focusedText(page)).toMatch(/^Documents/);
    expect(await listNames(bot)).toEqual(["delivery.md", "hours-2.md"]);
    await page.field("Search by name").fill("no such document");
    await page.tab.getByText("No document matches").waitFor();
    expect(page.problems).toEqual([]);
  });

  it("are replaced with another file, and keep their name and id", async () => {
    const bot = await addBot(fixture.service);
    const { knowledge } = fixture.service.admin;
    const { source } = await knowledge.getSource({ ...botOf(bot), name: "delivery.md" });
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge/document?bot=${bot}&name=delivery.md`, "delivery.md");
    const input = page.tab.getByLabel("File that replaces the document");
    await page.button("Replace").waitFor();
    await input.setInputFiles({ name: "sheet.ods", mimeType: "text/plain", buffer: Buffer.from("x") });
    await eventually(() => page.announcement.innerText()).toContain("Only .txt, .md, .html, ");
    await input.setInputFiles({
      name: "delivery-2027.html",
      mimeType: "text/html",
      buffer: Buffer.from("<h1>Delivery</h1><p>Only on Mondays."),
    });
    await eventually(() => page.announcement.innerText()).toBe("The document was replaced with delivery-2027.html.");
    await page.tab.getByText("Only on Mondays.").waitFor();
    // The original of HTML is not stored.
    expect(await page.button("Edit").count()).toBe(0);
    const { source: replaced } = await knowledge.getSource({ ...botOf(bot), name: "delivery.md" });
    expect(replaced).toMatchObject({ id: source?.id, name: "delivery.md", format: "html" });
    expect(page.problems).toEqual([]);
  });

  it("are not overwritten by an edit that began before another one, unless the owner says so", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge/document?bot=${bot}&name=delivery.md`, "delivery.md");
    await page.button("Edit").click();
    await page.tab.getByRole("textbox", { name: "Text" }).fill("Mine.");
    const content = Buffer.from("Theirs.");
    const { knowledge } = fixture.service.admin;
    await knowledge.addSource({ ...botOf(bot), name: "delivery.md", format: "md", content });
    await page.button("Save").click();
    const dialog = page.tab.getByRole("alertdialog", { name: "Replace newer changes?" });
    await dialog.waitFor();
    const readText = async () => (await knowledge.getSourceText({ ...botOf(bot), name: "delivery.md" })).text;
    expect(await readText()).toBe("Theirs.");
    await dialog.getByRole("button", { name: "Replace" }).click();
    await eventually(() => page.announcement.innerText()).toContain("Saved.");
    expect(await readText()).toBe("Mine.");
  });

  it("show the total of an upload, and after a reload what was added and what was not", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    const asked: string[] = [];
    page.tab.on("dialog", (dialog) => {
      asked.push(dialog.type());
      void dialog.accept();
    });
    let sent = 0;
    await page.tab.route("**/AddSource", async (route) => {
      // Later uploads never end.
      if (++sent <= 3) await route.continue();
    });
    const names = Array.from({ length: 10 }, (_, at) => `file-${at}.md`);
    await page.dropFiles({
      ...Object.fromEntries(names.map((name) => [name, `# ${name}\n\nText.`])),
      "table.ods": "x",
    });
    // Three small files are sent at once, and table.ods waits for its place.
    await page.tab.getByText("3 of 11 uploaded", { exact: true }).waitFor();
    const top = () => page.heading2("Uploads").evaluate((element) => element.closest("section")?.clientHeight ?? 0);
    expect(await top()).toBeLessThan(420);
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tab.reload();
    expect(asked).toEqual(["beforeunload"]);
    await page.tab.getByText("3 of 11 uploaded, 5 not sent", { exact: true }).waitFor();
    const rows = page.tab.locator(".upload");
    await eventually(async () => (await rows.allInnerTexts()).filter((text) => text.includes("Not added")).length).toBe(
      3,
    );
    expect((await rows.allInnerTexts()).filter((text) => text.includes("Not sent"))).toHaveLength(5);
    await page.tabTo("Clear finished");
    await page.tab.keyboard.press("Enter");
    await rows.first().waitFor({ state: "detached" });
    expect(await focusedText(page)).toBe("choose files");
    expect((await listNames(bot)).filter((name) => names.includes(name))).toHaveLength(3);
  });
});
