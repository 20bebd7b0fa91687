import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import { WidgetPage } from "./widget-page.ts";

describeInBrowser("playground", (fixture) => {
  const open = async (slug = fixture.service.bot.slug) => {
    const page = await (await fixture.newContext()).newPage();
    const widgetPage = new WidgetPage(page, fixture.service.url);
    await page.goto(`${fixture.service.url}/playground?bot=${slug}`);
    await page.getByLabel("Access token").fill(fixture.service.system.token);
    const ask = async (text: string) => {
      await page.getByLabel("Message", { exact: true }).fill(text);
      await page.getByRole("button", { name: "Send" }).click();
    };
    const status = page.getByRole("status");
    return { page, ask, status, widgetPage };
  };

  it("shows the bot's reply, every event with its time, and the tokens", async () => {
    const { page, ask, status, widgetPage } = await open();
    await ask("slow 5");
    await eventually(() => status.innerText()).toBe("The reply is complete.");
    const rows = await page
      .locator("#events tr")
      .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
    const names = rows.map(([, name]) => name);
    expect([names[0], ...new Set(names.slice(1, -1)), names.at(-1)]).toEqual(["meta", "token", "done"]);
    // The edge may coalesce some of the five tokens.
    expect(names.length).toBeGreaterThan(3);
    const times = rows.map(([ms]) => Number(ms));
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(150);
    const metering = await page.locator("#metering").innerText();
    expect(metering).toMatch(/Model\s+openai:default/);
    expect(metering).toMatch(/Tokens in\s+21/);
    expect(metering).toMatch(/Tokens out\s+34/);
    expect(widgetPage.problems).toEqual([]);
  });

  it("fetches the export with the token, shows the used knowledge and offers the download", async () => {
    const { system, admin } = fixture.service;
    const { slug } = await fixture.service.addBot({});
    await admin.knowledge.addSource({
      workspaceId: system.workspaceId,
      botSlug: slug,
      name: "returns.md",
      format: "md",
      content: Buffer.from("# Returns\n\nUnused things come back within thirty days, free of charge."),
    });
    const { page, ask, status } = await open(slug);
    await ask("quick: how do returns of unused things work?");
    await eventually(() => status.innerText()).toBe("The reply is complete.");
    await page.getByRole("button", { name: "Fetch the export" }).click();
    await eventually(() => page.locator("#messages tr").allInnerTexts()).toEqual([
      expect.stringMatching(/user\s+quick: .*\s+done\s+none/),
      expect.stringMatching(/assistant\s+.*\s+done\s+chunks [\d, ]+\s+21, 34/),
    ]);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download the JSON" }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^session-[\da-f-]{36}\.json$/);
    expect(JSON.parse(await readFile(await download.path(), "utf8"))).toMatchObject({
      session: { source: "playground" },
    });
  });

  it("keeps the access token only in memory", async () => {
    const { page, ask, status } = await open();
    await ask("quick");
    await eventually(() => status.innerText()).toBe("The reply is complete.");
    const stored = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]),
    );
    expect(stored).not.toContain(fixture.service.system.token);
    await page.reload();
    expect(await page.getByLabel("Access token").inputValue()).toBe("");
  });

  it("shows why a token is refused, and stops a reply", async () => {
    const { page, ask, status } = await open();
    await page.getByLabel("Access token").fill("nonsense");
    await ask("quick");
    await eventually(() => status.innerText()).toMatch(/^authentication_required: /);
    await page.getByLabel("Access token").fill(fixture.service.system.token);
    await ask("slow 300");
    await eventually(() => page.locator("#events tr").count()).toBeGreaterThan(3);
    await page.getByRole("button", { name: "Stop" }).click();
    await eventually(() => status.innerText()).toBe("stopped: Stopped.");
    const session = await page.locator("#session").innerText();
    await page.getByRole("button", { name: "New session" }).click();
    expect(await page.locator("#session").innerText()).not.toBe(session);
    expect(await page.locator("#talk").innerText()).toBe("");
  });

  it("has no axe violation in both themes and does not violate its Content Security Policy", async () => {
    const { page, ask, status, widgetPage } = await open();
    expect(await widgetPage.violations()).toEqual([]);
    await ask("markdown");
    await eventually(() => status.innerText()).toBe("The reply is complete.");
    await page.getByRole("button", { name: "Fetch the export" }).click();
    await page.locator("#messages tr").first().waitFor();
    expect(await widgetPage.violations()).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await widgetPage.violations()).toEqual([]);
    expect(widgetPage.problems).toEqual([]);
  });
});
