import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startSampleShop } from "@parley/sample-shop";
import { beforeAll, expect, it } from "vitest";
import { root } from "../../system/processes.ts";
import { describeInBrowser, eventually, type Visit } from "../fixture.ts";
import { WidgetPage } from "../widget-page.ts";
import { RECORDING_SLOWDOWN } from "./answers.ts";
import { film } from "./film.ts";

const FOLDER = join(root, "docs/pictures");

const BOT = {
  name: "Sample shop",
  welcome_message: "Hello! Ask me about our things, delivery and returns.",
  primary_color: "#1f5c45",
  quick_replies: ["How long does delivery take?", "Can the mug go into the dishwasher?"],
};

const ARABIC_BOT = {
  ...BOT,
  name: "متجر العيّنات",
  welcome_message: "مرحبًا! اسألني عن منتجاتنا والتوصيل والإرجاع.",
  quick_replies: ["كم يستغرق التوصيل؟"],
};

const background = (color: string) => `<style>html { background: ${color} }</style>`;
const windowOf = (width: number, height: number) => ({ viewport: { width, height }, deviceScaleFactor: 2 });

const QUESTIONS = ["How long does delivery take?", "And if I want to return it?"];

const PANELS: Readonly<Record<string, Visit & { bot?: typeof BOT; questions?: readonly string[] }>> = {
  light: { context: windowOf(490, 760), head: background("#f3f1ea") },
  dark: { context: windowOf(490, 760), head: background("#0c0d10"), attributes: { "data-theme": "dark" } },
  mobile: { context: { ...windowOf(360, 760), hasTouch: true, isMobile: true } },
  rtl: {
    context: windowOf(490, 760),
    head: background("#f3f1ea"),
    htmlAttributes: 'lang="ar" dir="rtl"',
    attributes: { "data-position": "bottom-left" },
    bot: ARABIC_BOT,
    questions: ["كم يستغرق التوصيل؟", "وإذا أردت إرجاعه؟"],
  },
};

describeInBrowser("README pictures", (fixture) => {
  beforeAll(() => mkdir(FOLDER, { recursive: true }).then(() => undefined));

  const savePicture = (name: string, picture: Buffer) => writeFile(join(FOLDER, `${name}.png`), picture);

  const withShop = async (
    size: ReturnType<typeof windowOf>,
    act: (widget: WidgetPage, url: string) => Promise<void>,
  ) => {
    const { publicKey } = await fixture.service.addBot(BOT);
    const shop = await startSampleShop({ port: 0, host: "localhost", edgeUrl: fixture.service.url, publicKey });
    const shopPage = await (await fixture.newContext(size)).newPage();
    await act(new WidgetPage(shopPage, fixture.service.url), shop.url).finally(() => shop.close());
  };

  it.each(Object.entries(PANELS))("saves %s.png", async (name, { bot = BOT, questions = QUESTIONS, ...visit }) => {
    const { publicKey } = await fixture.service.addBot(bot);
    const widget = await fixture.visitAndOpen({ body: " ", publicKey, ...visit });
    for (const question of questions) {
      await widget.askAndWait(question);
    }
    await widget.ratingControls.first().getByRole("button").first().click();
    await widget.page.mouse.move(0, 0);
    await widget.waitForAnimations();
    await savePicture(name, await widget.page.screenshot({ animations: "disabled" }));
    expect(widget.problems).toEqual([]);
  });

  it("saves shop.png", () =>
    withShop(windowOf(1280, 800), async (widget, url) => {
      await widget.page.goto(url);
      await widget.open();
      await widget.askAndWait("Can the mug go into the dishwasher?");
      await widget.page.mouse.move(0, 0);
      await widget.waitForAnimations();
      await savePicture("shop", await widget.page.screenshot({ animations: "disabled" }));
    }));

  it("saves asking.png, an animated PNG of at most 1 MiB", () =>
    withShop({ ...windowOf(1000, 640), deviceScaleFactor: 1.5 }, async (widget, url) => {
      const { page } = widget;
      const pause = (ms: number) => page.waitForTimeout(ms * RECORDING_SLOWDOWN);
      await page.goto(url);
      await widget.launcher.waitFor();
      const picture = await film(page, async () => {
        await pause(600);
        await widget.open();
        await pause(900);
        await widget.input.pressSequentially("Can the mug go into the dishwasher?", { delay: 40 * RECORDING_SLOWDOWN });
        await pause(250);
        await widget.input.press("Enter");
        await widget.ratingControls.waitFor();
        await pause(700);
        await widget.panel.getByRole("button", { name: "Good answer" }).click();
        await pause(300);
      });
      await savePicture("asking", picture);
      expect(picture.length).toBeLessThanOrEqual(1024 * 1024);
    }));

  it("saves playground.png", async () => {
    const { system, url, admin } = fixture.service;
    const { slug } = await fixture.service.addBot(BOT);
    await admin.knowledge.addSource({
      workspaceId: system.workspaceId,
      botSlug: slug,
      name: "delivery.md",
      format: "md",
      content: Buffer.from(
        "# Delivery\n\nDelivery takes two to four working days. It costs 4.90, and nothing from 50.00 on.",
      ),
    });
    const page = await (await fixture.newContext(windowOf(1280, 900))).newPage();
    await page.goto(`${url}/playground?bot=${slug}`);
    await page.getByLabel("Access token").fill(system.token);
    await page.getByLabel("Your message", { exact: true }).fill(QUESTIONS[0] ?? "");
    await page.getByRole("button", { name: "Send" }).click();
    await eventually(() => page.getByRole("status").innerText()).toBe("The reply is complete.");
    await page.getByRole("button", { name: "Fetch the transcript" }).click();
    await page.locator("#messages tr").first().waitFor();
    await savePicture("playground", await page.screenshot({ animations: "disabled", fullPage: true }));
  });
});
