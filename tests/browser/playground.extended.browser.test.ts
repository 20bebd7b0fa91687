import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { describeInBrowserBeforeRelease, eventually } from "./fixture.ts";
import { openPlayground } from "./playground-page.ts";
import { slowReply } from "./replies.ts";
import { WidgetPage } from "./widget-page.ts";

describeInBrowserBeforeRelease("playground", (fixture) => {
  const open = () => openPlayground(fixture);

  describe("a reply", () => {
    const reply = (page: Page) => page.locator("#talk > .assistant > div").last();
    const enterToken = (page: Page) =>
      page
        .getByLabel("Access token")
        .fill(fixture.service.system.token)
        .then(() => page.keyboard.press("Enter"));
    const expectOneTurn = (pages: readonly WidgetPage[]) => fixture.expectOneTurn(pages, "/api/chat/playground/");

    it("continues after a reload, once the access token is entered", async () => {
      const { page, ask, status, widgetPage } = await open();
      await ask("slow 100");
      await eventually(() => reply(page).innerText()).toContain("word5");
      await page.reload();
      expect(await status.innerText()).toBe("A reply is not complete. Enter the access token to continue it.");
      expect(await page.locator("#talk").innerText()).toContain("slow 100");
      await page.getByLabel("Access token").fill("nonsense");
      await page.keyboard.press("Enter");
      await eventually(() => status.innerText()).toMatch(/^authentication_required: /);
      await enterToken(page);
      await eventually(() => status.innerText()).toBe("The reply is complete.");
      expect(await reply(page).innerText()).toBe(slowReply(100));
      await page.reload();
      expect(await reply(page).innerText()).toBe(slowReply(100));
      expect(await status.innerText()).toBe("");
      await expectOneTurn([widgetPage]);
      expect(widgetPage.problems).toEqual([]);
    });

    it("continues in a second tab, and does not stop when the first tab is closed", async () => {
      const first = await open();
      // The second tab must continue the reply before it is complete.
      await first.ask("slow 200");
      await eventually(() => reply(first.page).innerText()).toContain("word5");
      const page = await first.page.context().newPage();
      const second = new WidgetPage(page, fixture.service.url);
      await page.goto(first.page.url());
      await enterToken(page);
      await eventually(() => reply(page).innerText()).toContain("word10");
      await first.page.close();
      await eventually(() => page.getByRole("status").innerText(), 30_000).toBe("The reply is complete.");
      expect(await reply(page).innerText()).toBe(slowReply(200));
      await expectOneTurn([first.widgetPage, second]);
    });

    it("appears in a second tab without an access token when it is complete, and a new session started in the second tab also starts in the first tab", async () => {
      const first = await open();
      // The second tab must be open before the reply is complete.
      await first.ask("slow 150");
      await eventually(() => reply(first.page).innerText()).toContain("word5");
      const page = await first.page.context().newPage();
      await page.goto(first.page.url());
      const status = page.getByRole("status");
      expect(await status.innerText()).toBe("A reply is not complete. Enter the access token to continue it.");
      await eventually(() => reply(page).innerText(), 20_000).toBe(slowReply(150));
      await eventually(() => status.innerText()).toBe("");
      await page.getByRole("button", { name: "New conversation" }).click();
      await eventually(() => first.page.locator("#talk").innerText()).toBe("");
      const session = (tab: Page) => tab.locator("#session").innerText();
      expect(await session(first.page)).toBe(await session(page));
    });

    it("continues after the connection was cut", async () => {
      const { page, ask, status, widgetPage } = await open();
      await ask("slow 100");
      await eventually(() => reply(page).innerText()).toContain("word5");
      fixture.service.cutConnections();
      await eventually(() => status.innerText(), 30_000).toBe("The reply is complete.");
      expect(await reply(page).innerText()).toBe(slowReply(100));
      await expectOneTurn([widgetPage]);
    });
  });
});
