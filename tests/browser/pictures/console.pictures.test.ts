import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserContextOptions } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { root } from "../../system/processes.ts";
import { addBot, addConversation, addQuestionsAndEvaluation } from "../console-bot.ts";
import { ConsolePage } from "../console-page.ts";
import { describeInBrowser } from "../fixture.ts";
import { addHistory } from "./history.ts";

const DESKTOP = { viewport: { width: 1440, height: 900 } };
const DARK = { ...DESKTOP, colorScheme: "dark" } as const;
const PHONE = { viewport: { width: 375, height: 812 } };

type Picture = {
  context: BrowserContextOptions;
  path: (bot: string) => string;
  /** A text of the loaded screen. */
  text: string;
  /** Whether the screen shows the widget. */
  hasPreview?: boolean;
};

const PICTURES: Readonly<Record<string, Picture>> = {
  "console-overview": { context: DESKTOP, path: () => "/overview", text: "Messages a day" },
  "console-usage": { context: DARK, path: () => "/usage", text: "By bot" },
  "console-conversations": { context: DESKTOP, path: () => "/conversations", text: "bakery.example/bread" },
  "console-conversation": { context: DESKTOP, path: () => "/conversations", text: "bakery.example/bread" },
  "console-bot": { context: DESKTOP, path: (bot) => `/bots/${bot}`, text: "Looks", hasPreview: true },
  "console-knowledge": { context: DARK, path: (bot) => `/knowledge?bot=${bot}`, text: "delivery.md", hasPreview: true },
  "console-questions": { context: DESKTOP, path: (bot) => `/questions?bot=${bot}`, text: "Where can I park?" },
  "console-evaluation": { context: DESKTOP, path: (bot) => `/evaluation?bot=${bot}`, text: "Found at place 1" },
  "console-phone": { context: PHONE, path: () => "/keys", text: "bakery.example" },
  "console-moderation": { context: DESKTOP, path: (bot) => `/moderation?bot=${bot}`, text: "refund" },
  "console-tools": { context: DESKTOP, path: (bot) => `/tools?bot=${bot}`, text: "look_up_order" },
  "console-playground": {
    context: DESKTOP,
    path: (bot) => `/playground?bot=${bot}`,
    text: "Read what",
    hasPreview: true,
  },
  "console-audit-log": { context: DESKTOP, path: () => "/audit-log", text: "Added the document" },
};

/** Pictures that show only the bots of addHistory. They come first in PICTURES, because each remaining picture adds a bot. */
const PICTURES_WITHOUT_NEW_BOT = new Set(["console-overview", "console-usage"]);

describeInBrowser("pictures of the console", (fixture) => {
  beforeAll(() => addHistory(fixture.service), 300_000);

  it.each(Object.entries(PICTURES))("saves %s.png", async (name, { context, path, text, hasPreview }) => {
    const bot = PICTURES_WITHOUT_NEW_BOT.has(name) ? "" : await addBot(fixture.service);
    if (bot !== "") await addConversation(fixture.service, bot);
    if (name === "console-questions" || name === "console-evaluation")
      await addQuestionsAndEvaluation(fixture.service, bot);
    const { system } = fixture.service;
    const page = await ConsolePage.open(await (await fixture.newContext(context)).newPage(), system.consoleUrl);
    await page.signIn();
    await page.goto(path(bot));
    await page.tab.getByText(text).first().waitFor();
    if (name === "console-conversation") {
      await page.tab.getByText(text).first().click();
      await page.tab.getByText("1 passage of knowledge").click();
    }
    if (name === "console-moderation") {
      await page.field("Text to try").fill("Can I get a refund?");
      await page.tab.getByText("Blocks it as a visitor's message").waitFor();
    }
    if (hasPreview) await page.preview.getByText("Hello! Ask me about").waitFor();
    await writeFile(join(root, "docs/pictures", `${name}.png`), await page.tab.screenshot({ animations: "disabled" }));
    expect(page.problems).toEqual([]);
  });
});
