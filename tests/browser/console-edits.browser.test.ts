import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot, addConversation } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser } from "./fixture.ts";

describeInBrowser("edits and exports in the console", (fixture) => {
  it("changes the domains of a key, with the keyboard alone", async () => {
    const botSlug = await addBot(fixture.service);
    const [domain, added] = [`${randomUUID()}.example`, `${randomUUID()}.example`];
    const key = { workspaceId: CONSOLE_WORKSPACE, botSlug, domains: [domain] };
    const created = await fixture.service.admin.keys.createKey(key);
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn("/keys", "Keys");
    const row = page.tab.getByRole("listitem").filter({ hasText: domain });
    await row.waitFor();
    await page.tabTo(row.getByRole("button", { name: /^Domains/ }));
    await keyboard.press("Enter");
    const dialog = page.tab.getByRole("dialog", { name: "Change the domains" });
    await dialog.waitFor();
    await page.tabTo("Domains");
    await keyboard.press("Control+End");
    await keyboard.type("\n*");
    await page.tabTo("Save domains");
    await keyboard.press("Enter");
    await dialog.getByRole("alert").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tabTo("Domains");
    await page.retype(`${domain}\n${added}`);
    await page.tabTo("Save domains");
    await keyboard.press("Enter");
    await dialog.waitFor({ state: "hidden" });
    await row.getByText(`${domain}, ${added}`).waitFor();
    const { keys } = await fixture.service.admin.keys.listKeys(key);
    const stored = keys.find(({ publicKey }) => publicKey === created.key?.publicKey);
    expect(stored?.allowedDomains).toEqual([domain, added]);
    expect(page.problems).toEqual([]);
  });

  it("exports with every filter of the list except the search, and the menu explains that the days refer to a conversation's start and that the search does not apply", async () => {
    const bot = await addBot(fixture.service);
    const visitor = await addConversation(fixture.service, bot);
    const { page } = await openConsole(fixture);
    const filters = `bot=${bot}&visitor=${visitor}&rating=up&review=bad&source=widget&from=2026-01-02&q=bread`;
    await page.signInWithClick(`/conversations?${filters}`, "Conversations");
    await page.button("Export").click();
    await page.tab.getByText(/started on these days.* The search does not apply to the export\./).waitFor();
    const [download] = await Promise.all([
      page.tab.waitForEvent("download"),
      page.tab.getByRole("menuitem", { name: /^NDJSON/ }).click(),
    ]);
    const { since, ...query } = Object.fromEntries(new URL(download.url()).searchParams);
    expect(query).toEqual({ bot_slug: bot, visitor_id: visitor, rating: "up", review: "bad", source: "widget" });
    expect(since).toMatch(/^2026-01-0[123]T/);
    expect(page.problems).toEqual([]);
  });
});
