import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot, addConversation } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("bots in the console", (fixture) => {
  it("are duplicated, and deleted with their keys and documents, with the keyboard alone", async () => {
    const bot = await addBot(fixture.service);
    const visitor = await addConversation(fixture.service, bot);
    const copy = `copy-${randomUUID().slice(0, 8)}`;
    const { bots, keys, moderation } = fixture.service.admin;
    const workspaceId = CONSOLE_WORKSPACE;
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/bots/${bot}`, "Bakery guide");
    await page.tabTo("Duplicate");
    await keyboard.press("Enter");
    const duplicate = page.tab.getByRole("dialog", { name: "Duplicate the bot" });
    await duplicate.waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    expect(await duplicate.getByLabel("Short name").inputValue()).toBe(`${bot}-copy`);
    await page.retype("Night bakery");
    await page.tabTo("Short name");
    await page.retype(copy);
    await keyboard.press("Enter");
    await page.heading("Night bakery").waitFor();
    expect(new URL(page.tab.url()).pathname).toBe(`/bots/${copy}`);
    expect(await page.tab.evaluate(() => document.activeElement?.id)).toBe("main");
    expect(await bots.getBot({ workspaceId, slug: copy })).toMatchObject({
      bot: { systemPrompt: "You answer questions about a bakery, briefly and kindly." },
    });
    expect((await moderation.listPatterns({ workspaceId, botSlug: copy })).patterns).toHaveLength(1);

    await page.goto(`/bots/${bot}`);
    await page.heading("Bakery guide").waitFor();
    await page.tabTo("Delete");
    await keyboard.press("Enter");
    const deletion = page.tab.getByRole("dialog", { name: "Delete Bakery guide?" });
    await deletion.getByText("2 keys. The chat on pages").waitFor();
    await deletion.getByText("1 document", { exact: true }).waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    expect(await page.button("Delete bot").isDisabled()).toBe(true);
    await keyboard.type(bot);
    await keyboard.press("Enter");
    await page.heading("Bots").waitFor();
    await eventually(() => page.announcement.innerText()).toBe("The bot was deleted.");
    expect(await page.tab.getByRole("link", { name: new RegExp(bot) }).count()).toBe(0);
    expect(await page.tab.evaluate(() => document.activeElement?.id)).toBe("main");
    expect((await keys.listKeys({ workspaceId })).keys.filter(({ botSlug }) => botSlug === bot)).toEqual([]);
    await page.goto(`/conversations?visitor=${visitor}`);
    await page.tab.getByRole("link", { name: new RegExp(visitor) }).click();
    await page.tab.getByText(bot, { exact: true }).waitFor();
    expect(page.problems).toEqual([]);
  });

  it("get an uploaded logo, which the widget shows and the edge serves as an image only", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/bots/${bot}`, "Bakery guide");
    await page.button("Upload a logo").waitFor();
    const input = page.tab.getByLabel("Picture for the logo");
    const svg = Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>");
    await input.setInputFiles({ name: "logo.png", mimeType: "image/png", buffer: svg });
    await eventually(() => page.announcement.innerText()).toContain("A logo must be a PNG, JPEG, WebP or GIF image.");
    const image = Buffer.from("R0lGODlhAQABAIAAAP8AAP///ywAAAAAAQABAAACAkQBADs=", "base64");
    await input.setInputFiles({ name: "logo.gif", mimeType: "image/gif", buffer: image });
    await eventually(() => page.announcement.innerText()).toContain("The logo was uploaded.");
    const url = await page.field("Logo").inputValue();
    expect(url).toMatch(/^http.*\/widget\/logos\/[0-9a-f]{64}$/);
    const logo = page.preview.locator("img.avatar").first();
    await eventually(() => logo.evaluate((element) => (element as HTMLImageElement).naturalWidth)).toBe(1);
    await page.button("Save").click();
    await eventually(() => page.announcement.innerText()).toContain("Saved");
    const response = await fetch(url);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(image);
    expect(response.headers.get("content-type")).toBe("image/gif");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(await page.findAxeViolations()).toEqual([]);
    expect(page.problems).toEqual([]);
  });

  it("are put on a site in steps, which the overview lists until they are done or hidden", async () => {
    await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.replaceResponses({ body: { keys: [] } }, "ListKeys");
    await page.signIn("/overview", "Overview");
    await page.tab.getByRole("heading", { name: /^First steps/ }).waitFor();
    const steps = page.tab.locator(".steps li");
    expect(await steps.nth(0).innerText()).toContain("Create a bot");
    expect(await steps.nth(0).getByRole("link").count()).toBe(0);
    expect(await steps.nth(3).getByRole("link", { name: "Create a key" }).count()).toBe(1);
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tabTo("Hide");
    await page.tab.keyboard.press("Enter");
    await steps.first().waitFor({ state: "detached" });
    expect(await page.tab.evaluate(() => document.activeElement?.id)).toBe("main");
    await page.goto("/overview");
    await page.tab.getByText("Messages a day").waitFor();
    await page.waitUntilQuiet();
    expect(await steps.count()).toBe(0);
    expect(page.problems).toEqual([]);
  });

  it("lists no first steps when a page has used a key", async () => {
    const bot = await addBot(fixture.service);
    await addConversation(fixture.service, bot);
    const { page } = await openConsole(fixture);
    const used = { publicKey: "svc_pk_used", botSlug: bot, allowedDomains: ["a.example"], lastUsedOn: "2026-11-29" };
    await page.replaceResponses({ body: { keys: [used] } }, "ListKeys");
    await page.replaceResponses({ body: { sessions: [{ id: "x" }] } }, "ListSessions");
    await page.signIn("/overview", "Overview");
    await page.tab.getByText("Messages a day").waitFor();
    await page.waitUntilQuiet();
    expect(await page.tab.locator(".steps").count()).toBe(0);
  });
});
