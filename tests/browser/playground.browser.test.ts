import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import { openPlayground } from "./playground-page.ts";
import { WidgetPage } from "./widget-page.ts";

describeInBrowser("playground", (fixture) => {
  const open = (slug?: string) => openPlayground(fixture, slug);

  it("shows that the reply is complete, every event with its time, the model and the token counts", async () => {
    const { page, ask, status, widgetPage } = await open();
    await ask("slow 20");
    await eventually(() => status.innerText()).toBe("The reply is complete.");
    const rows = await page
      .locator("#events tr")
      .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
    const names = rows.map(([, name]) => name);
    expect([names[0], ...new Set(names.slice(1, -1)), names.at(-1)]).toEqual(["meta", "token", "done"]);
    // The edge may coalesce some of the tokens.
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

  it("fetches the export with the access token, shows the used knowledge and offers the download", async () => {
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
    await page.getByRole("button", { name: "Fetch the transcript" }).click();
    await eventually(() => page.locator("#messages tr").allInnerTexts()).toEqual([
      expect.stringMatching(/user\s+quick: .*\s+done\s+none/),
      expect.stringMatching(/assistant\s+.*\s+done\s+[\d, ]+\s+21\s+34/),
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

  it("does not send a message when Enter confirms the characters of an IME", async () => {
    const { page } = await open();
    const message = page.getByLabel("Your message", { exact: true });
    await message.fill("composing");
    // Safari ends the composition before it reports the key that ended it.
    await message.dispatchEvent("keydown", { key: "Enter", keyCode: 229 });
    expect(await message.inputValue()).toBe("composing");
    expect(await page.locator("#talk").innerText()).toBe("");
    await message.press("Enter");
    await eventually(() => message.inputValue()).toBe("");
  });

  it("shows the id of a turn whose reply failed, which the service has too", async () => {
    const { admin, system } = fixture.service;
    const { slug } = await fixture.service.addBot({});
    const { workspaceId } = system;
    await admin.bots.updateBot({ workspaceId, slug, changes: { model: "no:such" } });
    const { ask, status, widgetPage } = await openPlayground(fixture, slug);
    await ask("quick");
    await eventually(() => status.innerText()).toMatch(/ ID [0-9a-f-]{36}$/);
    const [, turnId = ""] = (await status.innerText()).split(" ID ");
    expect((await admin.turns.getTurn({ workspaceId, turnId })).turn).toMatchObject({ turnId, status: "error" });
    expect(await widgetPage.findAxeViolations()).toEqual([]);
  });

  it("shows why an access token is refused, with the id of the request, and puts the message back into its field, stops a reply, and starts a new session", async () => {
    const { page, ask, status } = await open();
    const message = page.getByLabel("Your message", { exact: true });
    await page.getByLabel("Access token").fill("nonsense");
    await ask("quick");
    await eventually(() => status.innerText()).toMatch(/^authentication_required: .* ID [0-9a-f-]{36}$/);
    expect(await message.inputValue()).toBe("quick");
    await page.getByLabel("Access token").fill(fixture.service.system.token);
    await ask("slow 300");
    await eventually(() => page.locator("#events tr").count()).toBeGreaterThan(3);
    await page.getByRole("button", { name: "Stop" }).click();
    await eventually(() => status.innerText()).toBe("stopped: Stopped.");
    expect(await message.inputValue()).toBe("");
    const session = await page.locator("#session").innerText();
    await page.getByRole("button", { name: "New conversation" }).click();
    expect(await page.locator("#session").innerText()).not.toBe(session);
    expect(await page.locator("#talk").innerText()).toBe("");
  });

  describe("a reply", () => {
    const reply = (page: Page) => page.locator("#talk > .assistant > div").last();

    it("keeps its text when its continuation is refused, even after a reload of the page", async () => {
      const { page, ask, status } = await open();
      const body = `event: meta\ndata: {"message_id":1}\n\nevent: token\ndata: {"text":"The first half"}\n\n`;
      await page.route(
        "**/api/chat/playground/",
        (route) => route.fulfill({ contentType: "text/event-stream", body }),
        {
          times: 1,
        },
      );
      // The page does not reconnect while the browser is offline.
      page.on("requestfinished", () => void page.context().setOffline(true));
      await ask("slow 100");
      await eventually(() => status.innerText()).toMatch(/^offline: /);
      page.removeAllListeners("requestfinished");
      await page.route("**/api/chat/playground/", (route) =>
        route.fulfill({ status: 401, json: { error: "authentication_required" } }),
      );
      await page.context().setOffline(false);
      await eventually(() => status.innerText()).toMatch(/^authentication_required: /);
      expect(await reply(page).innerText()).toBe("The first half");
      await page.reload();
      expect(await reply(page).innerText()).toBe("The first half");
    });

    it("is not continued after it was stopped", async () => {
      const { page, ask, status } = await open();
      await ask("slow 300");
      await eventually(() => reply(page).innerText()).toContain("word5");
      await page.getByRole("button", { name: "Stop" }).click();
      await eventually(() => status.innerText()).toBe("stopped: Stopped.");
      await page.reload();
      expect(await reply(page).innerText()).toContain("word5");
      expect(await status.innerText()).toBe("");
    });
  });

  it("is in the browser's language, from right to left for Arabic, and fits into a phone", async () => {
    const context = await fixture.newContext({ locale: "ar", viewport: { width: 375, height: 760 } });
    const page = await context.newPage();
    await page.goto(`${fixture.service.url}/playground?bot=${fixture.service.bot.slug}`);
    await page.getByRole("heading", { level: 1, name: "ساحة التجربة" }).waitFor();
    expect(await page.title()).toBe("ساحة التجربة · Parley");
    await page.getByLabel("رمز الوصول").fill("nonsense");
    await page.getByLabel("رسالتك").fill("quick");
    await page.getByRole("button", { name: "إرسال" }).click();
    await eventually(() => page.getByRole("status").innerText()).toMatch(
      /^authentication_required: رمز الوصول غير موجود/,
    );
    const { lang, dir, scrollWidth, clientWidth } = await page.evaluate(() => {
      const { lang: shownLang, dir: shownDir, scrollWidth: needed, clientWidth: visible } = document.documentElement;
      return { lang: shownLang, dir: shownDir, scrollWidth: needed, clientWidth: visible };
    });
    expect({ lang, dir }).toEqual({ lang: "ar", dir: "rtl" });
    expect(scrollWidth).toBe(clientWidth);
    expect(await new WidgetPage(page, fixture.service.url).findAxeViolations()).toEqual([]);
  });

  it("has no axe violation in either theme and does not violate its Content Security Policy", async () => {
    const { page, ask, status, widgetPage } = await open();
    expect(await widgetPage.findAxeViolations()).toEqual([]);
    await ask("markdown");
    await eventually(() => status.innerText()).toBe("The reply is complete.");
    await page.getByRole("button", { name: "Fetch the transcript" }).click();
    await page.locator("#messages tr").first().waitFor();
    expect(await widgetPage.findAxeViolations()).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await widgetPage.findAxeViolations()).toEqual([]);
    expect(widgetPage.problems).toEqual([]);
  });
});
