import { beforeAll, expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("a bot's documents in the console", (fixture) => {
  let bot: string;

  beforeAll(async () => {
    bot = await addBot(fixture.service);
    for (let at = 0; at < 60; at++) {
      const name = `a-document-with-a-long-name-${at}.md`;
      const source = {
        workspaceId: CONSOLE_WORKSPACE,
        botSlug: bot,
        name,
        format: "md",
        content: Buffer.from("Text."),
      };
      await fixture.service.admin.knowledge.addSource(source);
    }
  });

  it.each([
    { width: 320, colorScheme: "light" },
    { width: 1440, colorScheme: "dark" },
  ] as const)(
    "fit the screen without sideways scrolling at $width px, $colorScheme",
    async ({ width, colorScheme }) => {
      const { page } = await openConsole(fixture, { viewport: { width, height: 812 }, colorScheme });
      const check = async (name: string) => {
        await page.savePicture(`${name}-${width}-${colorScheme}`);
        expect(await page.findAxeViolations(), name).toEqual([]);
        expect(await page.scrollsSideways(), name).toBe(false);
      };
      await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
      await page.tab.getByRole("checkbox", { name: /^Select the 50/ }).check();
      await page.heading2("Documents 61").scrollIntoViewIfNeeded();
      await check("documents");
      await page.button("Show more").click();
      await eventually(() => page.tab.evaluate(() => (document.activeElement as HTMLElement).innerText)).toMatch(
        /\.md$/,
      );
      expect(await page.button("Show more").count()).toBe(0);
      await page.goto(`/knowledge/document?bot=${bot}&name=delivery.md`);
      await page.tab.getByText("We deliver bread every morning before seven.").waitFor();
      await check("document");
      await page.button("Edit").click();
      await page.tab.getByRole("textbox", { name: "Text" }).waitFor();
      await check("document-edit");
      await page.button("Cancel").click();
      await eventually(() => page.tab.evaluate(() => (document.activeElement as HTMLElement).innerText)).toBe("Edit");
      expect(page.problems).toEqual([]);
    },
    60_000,
  );
});
