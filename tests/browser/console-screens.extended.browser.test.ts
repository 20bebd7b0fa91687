import { expect, it } from "vitest";
import { addBot, addConversation, addQuestionsAndEvaluation } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

const PHONE = { width: 375, height: 812 };
const VIEWS = [
  { size: "1440 px", viewport: { width: 1440, height: 900 }, colorScheme: "light" },
  { size: "375 px", viewport: PHONE, colorScheme: "dark" },
] as const;

describeInBrowser("console screens", (fixture) => {
  it.each(VIEWS)(
    "has no axe violation, no error and no sideways scrolling on any screen at $size, $colorScheme",
    async ({ viewport, colorScheme }) => {
      const bot = await addBot(fixture.service);
      const visitor = await addConversation(fixture.service, bot);
      await addQuestionsAndEvaluation(fixture.service, bot);
      const { page } = await openConsole(fixture, { viewport, colorScheme });
      const checkScreen = async (name: string) => {
        await page.savePicture(`${name}-${viewport.width}-${colorScheme}`);
        expect(await page.findAxeViolations(), name).toEqual([]);
        expect(await page.scrollsSideways(), name).toBe(false);
      };
      await page.goto("/");
      await page.heading("Sign in to Parley").waitFor();
      await checkScreen("sign-in");
      await page.signIn("/bots", "Bots");
      await page.tab.getByRole("link", { name: new RegExp(bot) }).waitFor();
      await checkScreen("bots");
      await page.button("New bot").click();
      await page.field("Name").fill("Ada Library");
      await checkScreen("new-bot");
      await page.tab.keyboard.press("Escape");
      await page.goto(`/bots/${bot}`);
      await page.preview.getByText("Hello! Ask me about").waitFor();
      await checkScreen("bot");
      await page.goto(`/knowledge?bot=${bot}`);
      await page.tab.getByText("delivery.md").waitFor();
      await page.preview.getByText("Hello! Ask me about").waitFor();
      await checkScreen("knowledge");
      await page.goto(`/knowledge?bot=${bot}&question=When+is+bread+delivered%3F&title=Gift+vouchers`);
      await page.tab.getByText("The bot would look for an answer in this passage.").waitFor();
      await page.tab.getByRole("heading", { name: "Try a question" }).scrollIntoViewIfNeeded();
      await checkScreen("try-question");
      await page.goto(`/questions?bot=${bot}`);
      await page.tab.getByText("gift vouchers, do you sell them?").waitFor();
      await checkScreen("questions");
      await page.goto(`/evaluation?bot=${bot}`);
      await page.tab.getByText("Found at place 1 · before: found at place 1").waitFor();
      await page.tab.getByText("The last 2 runs").click();
      await checkScreen("evaluation");
      await page.openScreen("Keys");
      await page.tab
        .getByRole("button", { name: /^Embed the key of Bakery guide/ })
        .first()
        .waitFor();
      await checkScreen("keys");
      await page.tab
        .getByRole("button", { name: /^Embed the key of Bakery guide/ })
        .first()
        .click();
      await page.tab.getByRole("dialog", { name: "Put the bot on your site" }).waitFor();
      await checkScreen("embed");
      await page.tab.keyboard.press("Escape");
      await page.goto(`/moderation?bot=${bot}`);
      await page.tab.getByText("refund").first().waitFor();
      await page.field("Text to try").fill("I want a refund");
      await page.tab.getByText("Blocks it as a visitor's message").waitFor();
      await checkScreen("moderation");
      await page.button("New rule").click();
      const dialog = page.tab.getByRole("dialog", { name: "New rule" });
      await page.field("Words").fill("bread");
      await dialog.getByLabel("Text to try", { exact: true }).fill("I want bread");
      await dialog.getByText("Not saved").waitFor();
      await checkScreen("new-rule");
      await page.field("Kind").selectOption("pattern");
      await page.field("Pattern").fill("(?=look)");
      await dialog.getByText("The pattern is not valid").waitFor();
      await checkScreen("new-pattern");
      await page.tab.keyboard.press("Escape");
      await page.openScreen("Overview");
      await page.tab.getByText("Messages a day").waitFor();
      await page.tab.getByText("Left", { exact: true }).waitFor();
      await checkScreen("overview");
      await page.goto(`/conversations?bot=${bot}`);
      await page.tab.getByRole("link", { name: new RegExp(visitor) }).waitFor();
      await checkScreen("conversations");
      await page.tab.getByRole("link", { name: new RegExp(visitor) }).click();
      await page.tab.getByText("1 passage of knowledge").click();
      await page.tab.getByText("We deliver bread every morning").waitFor();
      await page.button("Bad answer").click();
      await eventually(() => page.announcement.innerText()).toBe("Reviewed as bad.");
      await checkScreen("conversation");
      await page.button("Erase visitor").click();
      await page.field(`Type ${visitor} to confirm`).waitFor();
      await checkScreen("erase-visitor");
      await page.tab.keyboard.press("Escape");
      await page.goto(`/tools?bot=${bot}`);
      await page.tab.getByText("look_up_order").waitFor();
      await checkScreen("tools");
      await page.goto(`/playground?bot=${bot}`);
      await page.preview.getByText("Hello! Ask me about").waitFor();
      await checkScreen("playground");
      await page.openScreen("Usage");
      await page.tab.getByText("By month").waitFor();
      await page.heading2("By bot").waitFor();
      await checkScreen("usage");
      await page.openScreen("Audit log");
      await page.tab.getByText("Added the document delivery.md").first().waitFor();
      await checkScreen("audit-log");
      if (viewport.width < 800) await page.button("Open the menu").click();
      await page.tab.getByRole("button", { name: /Demo owner/ }).click();
      await checkScreen("menu");
      expect(page.problems).toEqual([]);
    },
    120_000,
  );

  it("shows the whole name of the bot in the filters at 375 px", async () => {
    // The option contains the slug only if another bot has the same name.
    const bot = await addBot(fixture.service);
    await addBot(fixture.service);
    const { page } = await openConsole(fixture, { viewport: PHONE });
    await page.signIn(`/conversations?bot=${bot}`, "Conversations");
    await page.tab.getByRole("option", { name: bot }).waitFor({ state: "attached" });
    // The browser draws a select element's arrow, which is 20 px wide, inside the element's padding box.
    const hiddenPx = await page.field("Bot").evaluate((select: HTMLSelectElement) => {
      const { font, paddingLeft, paddingRight } = getComputedStyle(select);
      const context = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;
      context.font = font;
      const { width } = context.measureText(select.selectedOptions[0]?.text ?? "");
      return width + Number.parseFloat(paddingLeft) + Number.parseFloat(paddingRight) + 20 - select.clientWidth;
    });
    expect(hiddenPx).toBeLessThanOrEqual(0);
  });

  it("shows the embed HTML of a key without an empty line at 375 px", async () => {
    await addBot(fixture.service);
    const { page } = await openConsole(fixture, { viewport: PHONE });
    await page.signIn("/keys", "Keys");
    await page.tab
      .getByRole("button", { name: /^Embed the key of Bakery guide/ })
      .first()
      .click();
    const lines = await page.tab.locator("pre code").evaluate((code) => {
      const boxOf = (text: string) => {
        const range = document.createRange();
        const node = code.firstChild as Text;
        range.setStart(node, node.data.indexOf(text));
        range.setEnd(node, node.data.indexOf(text) + text.length);
        return range.getBoundingClientRect();
      };
      return (boxOf("src").top - boxOf("async").top) / boxOf("async").height;
    });
    expect(lines).toBeLessThan(2);
  });

  it("centers the summary of a closed details element vertically", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    const gaps = await page.tab.getByText("Write a text").evaluate((summary) => {
      const [inner, outer] = [summary.getBoundingClientRect(), summary.parentElement?.getBoundingClientRect()];
      return [inner.top - (outer?.top ?? 0), (outer?.bottom ?? 0) - inner.bottom];
    });
    expect(gaps[1]).toBeCloseTo(gaps[0] ?? 0);
  });
});
