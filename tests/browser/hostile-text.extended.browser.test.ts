import { randomUUID } from "node:crypto";
import { startToolServer, type ToolServer } from "@parley/test-support";
import type { Locator, Page, Route } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";
import {
  HOSTILE_CSS,
  HOSTILE_MARKDOWN,
  HOSTILE_NAME,
  HOSTILE_TEXTS,
  HostileTextWatch,
  readTexts,
} from "./hostile-text.ts";

/** Texts that every page shows unchanged, even where it renders Markdown. */
const LITERAL = HOSTILE_TEXTS;
/** All hostile texts, each in a paragraph of its own. */
const HOSTILE = [...HOSTILE_TEXTS, ...HOSTILE_MARKDOWN].join("\n\n");
const BLOCKED_MESSAGE = "<img src=z onerror=alert(60)>";
/** A browser that opened this image as a document would run its scripts and load an image from another host. */
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="alert(61)"><script>alert(62)</script>
<image href="http://foreign.example/60.png" width="9" height="9"/></svg>`;

describeInBrowser("hostile text", (fixture) => {
  let toolServer: ToolServer;
  beforeAll(async () => {
    toolServer = await startToolServer();
    toolServer.respondWith(() => ({ body: HOSTILE }));
  });
  afterAll(() => toolServer.close());

  /** Creates a bot with hostile text in each of its fields. */
  const addHostileBot = async (workspaceId: string, domain: string, model = "openai:default") => {
    const { bots, knowledge, keys, moderation, tools } = fixture.service.admin;
    const slug = `hostile-${randomUUID().slice(0, 8)}`;
    const logo = fixture.site.addPage("/logo.svg", LOGO, { "Content-Type": "image/svg+xml" });
    const text = LITERAL.join("\n\n");
    await bots.createBot({
      workspaceId,
      slug,
      changes: {
        model,
        name: HOSTILE_NAME,
        welcomeMessage: text,
        systemPrompt: HOSTILE,
        fallback: text,
        logoUrl: `${logo}?"onerror="alert(63)"><img src=//foreign.example/61.png>`,
        fontFamily: `'"url(//foreign.example/62.png)', system-ui`,
        quickReplies: { values: LITERAL.slice(0, 10) },
        customCssVars: { values: { "--accent": `"url(//foreign.example/63.png)"` } },
      },
    });
    const content = Buffer.from(`# Delivery ${HOSTILE_NAME}\n\nThe delivery of bread is early.\n\n${HOSTILE}`);
    await knowledge.addSource({ workspaceId, botSlug: slug, name: HOSTILE_NAME, format: "md", content });
    const { key } = await keys.createKey({ workspaceId, botSlug: slug, domains: [domain] });
    const pattern = BLOCKED_MESSAGE.replace(/[()]/g, "\\$&");
    await moderation.addPattern({ workspaceId, botSlug: slug, pattern, reason: HOSTILE_NAME, fallback: text });
    const parameters = JSON.stringify({ type: "object", properties: {} });
    const http = { description: HOSTILE_NAME, method: "GET", url: `${toolServer.url}/text`, parameters };
    await tools.putTool({ workspaceId, botSlug: slug, tool: { name: "look_up", kind: { case: "http", value: http } } });
    return { slug, publicKey: key?.publicKey ?? "" };
  };

  /** Waits until the page shows the texts unchanged. Then fails if hostile text had an effect there. */
  const expectTexts = async (page: Page, texts: readonly string[], place: string) => {
    const findMissing = async () => {
      const shown = await readTexts(page);
      return texts.filter((text) => !shown.includes(text));
    };
    await eventually(findMissing).toEqual([]);
    const watch = HostileTextWatch.of(page);
    expect(await watch.findEffects(), place).toEqual([]);
  };

  it("has effects on a page that parses it as HTML, and the watch reports them", async () => {
    const page = await (await fixture.newContext()).newPage();
    const watch = await HostileTextWatch.start(page);
    await page.goto(fixture.site.addPage("/parsed", `<!doctype html><title>x</title><body>${HOSTILE}`));
    const effects = (await watch.findEffects()).join("\n");
    for (const effect of [/^dialog: 1$/m, /^dialog: 5$/m, /^request: .*1\.js$/m, /^attribute: IMG onerror=/m]) {
      expect(effects).toMatch(effect);
    }
  });

  it("is refused in a style property, and in a logo URL that is not http or https", async () => {
    const { admin, system, bot } = fixture.service;
    const update = (changes: object) =>
      admin.bots.updateBot({ workspaceId: system.workspaceId, slug: bot.slug, changes }).then(
        () => "accepted",
        ({ code }: { code: number }) => code,
      );
    const invalidArgument = 3;
    for (const value of HOSTILE_CSS) {
      expect(await update({ customCssVars: { values: { "--accent": value } } }), value).toBe(invalidArgument);
      expect(await update({ fontFamily: value }), value).toBe(invalidArgument);
    }
    for (const value of [
      "javascript:alert(1)",
      "data:image/svg+xml,<svg onload=alert(1)>",
      "//foreign.example/1.png",
    ]) {
      expect(await update({ logoUrl: value }), value).toBe(invalidArgument);
    }
  });

  it("is shown literally by the widget on a shop's page", async () => {
    const { workspaceId } = fixture.service.system;
    const bot = await addHostileBot(workspaceId, "localhost");
    const widget = await fixture.visitAndOpen({ publicKey: bot.publicKey, prepare: HostileTextWatch.start });
    const { page, answers } = widget;
    await expectTexts(page, [HOSTILE_NAME, ...LITERAL], "the bot's texts");
    await widget.askAndWait(HOSTILE);
    await expectTexts(page, [HOSTILE], "the message and the reply");
    expect(await findMissingLiterals(answers.last())).toEqual([]);
    const links = answers.last().locator("a");
    // An address without a scheme has the page's, which is http here.
    expect(new Set(await links.evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).protocol)))).toEqual(
      new Set(["https:", "http:"]),
    );
    expect(new Set(await links.evaluateAll((all) => all.map((link) => link.getAttribute("rel"))))).toEqual(
      new Set(["noopener noreferrer nofollow ugc"]),
    );
    await widget.askAndWait("tool");
    expect(toolServer.requests.length).toBeGreaterThan(0);
    expect(await findMissingLiterals(answers.last())).toEqual([]);
    await widget.ask(BLOCKED_MESSAGE);
    await eventually(() => answers.count()).toBe(3);
    await eventually(() => findMissingLiterals(answers.nth(2))).toEqual([]);
    await page.reload();
    await widget.open();
    await expectTexts(page, [HOSTILE], "the stored conversation");

    const quotingBot = await addHostileBot(workspaceId, "localhost", "builtin:extractive");
    const other = await fixture.visitAndOpen({ publicKey: quotingBot.publicKey, prepare: HostileTextWatch.start });
    await other.askAndWait("When is the delivery of bread?");
    await expectTexts(other.page, ["The delivery of bread is early."], "a quoted document");
    expect([...widget.problems, ...other.problems]).toEqual([]);
  });

  it("is shown literally by the playground", async () => {
    const { system, url } = fixture.service;
    const bot = await addHostileBot(system.workspaceId, "localhost");
    const page = await (await fixture.newContext()).newPage();
    await HostileTextWatch.start(page);
    await page.goto(`${url}/playground?bot=${encodeURIComponent(HOSTILE_NAME)}`);
    await expectTexts(page, [HOSTILE_NAME], "the address");
    await page.getByLabel("Bot").fill(bot.slug);
    await page.getByLabel("Access token").fill(system.token);
    for (const message of [HOSTILE, BLOCKED_MESSAGE]) {
      await page.getByLabel("Your message", { exact: true }).fill(message);
      await page.getByRole("button", { name: "Send" }).click();
      await eventually(() => page.locator("#events tr", { hasText: "done" }).count()).toBe(1);
    }
    await page.getByRole("button", { name: "Fetch the transcript" }).click();
    await page.locator("#messages tr").first().waitFor();
    await expectTexts(page, [HOSTILE, ...LITERAL], "the session, its events and its transcript");
  });

  it("is shown literally on each screen of the console", async () => {
    const { url } = fixture.service;
    const bot = await addHostileBot(CONSOLE_WORKSPACE, "bakery.example");
    const visitorId = `${HOSTILE_NAME} ${randomUUID()}`;
    const session_id = randomUUID();
    // Differs from HOSTILE_NAME, which other fields contain, so that the test finds the user agent itself on the screen.
    const userAgent = HOSTILE_NAME.replaceAll(/[{}]/g, "");
    for (const message of [`${HOSTILE}\n\nWhen is the delivery of bread?`, "tool", BLOCKED_MESSAGE]) {
      const response = await fetch(`${url}/api/chat/`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          origin: "https://bakery.example",
          referer: `https://bakery.example/"><img src=x onerror=alert(64)>`,
          "user-agent": userAgent,
        },
        body: JSON.stringify({
          public_key: bot.publicKey,
          session_id,
          message,
          visitor_id: visitorId,
          visitor_metadata: { [HOSTILE_NAME]: HOSTILE, plan: [HOSTILE_NAME] },
        }),
      });
      expect(await response.text()).toContain("event: done");
    }
    const { page: ownersConsole } = await openConsole(fixture);
    const { tab: page } = ownersConsole;
    await HostileTextWatch.start(page);
    const openAndExpect = async (path: string, ...texts: string[]) => {
      await ownersConsole.goto(path);
      await expectTexts(page, texts, path);
    };
    const encodedName = encodeURIComponent(HOSTILE_NAME);
    await openAndExpect(
      `/sign-in?error=${encodedName}&signed_out=${encodedName}&return_to=${encodedName}`,
      "The sign-in failed.",
    );
    // If return_to names another site, the sign-in must not lead the owner there.
    await ownersConsole.signInWithClick("/sign-in?return_to=%2F%2Fforeign.example%2F");
    // The owner's name comes from the identity provider, so the test replaces the name in the console's responses. /bots is the only HTML page
    // that the test changes, because Chromium blocks images from localhost on a page whose HTML was replaced.
    await page.route("**/bots", (route) => replaceInResponse(route, "Demo owner", toHtml(toJson(HOSTILE_NAME))));
    await page.route("**/api/rpc/**", (route) => replaceInResponse(route, "demo-owner", toJson(HOSTILE_NAME)));
    await openAndExpect("/bots", HOSTILE_NAME, bot.slug);
    await page.getByRole("button", { name: HOSTILE_NAME }).click();
    await expectTexts(page, ["Sign out"], "the user's menu");
    // Opened early: the audit log shows only the last 50 changes, and other test files change the same workspace.
    await openAndExpect("/audit-log", `Added the document ${HOSTILE_NAME}`);
    await openAndExpect(`/bots/${bot.slug}`, HOSTILE, ...LITERAL);
    await page.frameLocator("iframe").locator(".launcher").waitFor();
    await page.frameLocator("iframe").getByRole("dialog").waitFor();
    await openAndExpect(`/knowledge?bot=${bot.slug}`, HOSTILE_NAME, ...LITERAL);
    await page.getByRole("button", { name: `Remove ${HOSTILE_NAME}` }).click();
    await expectTexts(page, [`The bot will no longer answer from “${HOSTILE_NAME}”.`], "the removal of a document");
    await openAndExpect("/keys", HOSTILE_NAME);
    const key = page.getByRole("listitem").filter({ hasText: bot.publicKey });
    await key.getByRole("button", { name: "Revoke" }).click();
    await expectTexts(page, [`The chat with “${HOSTILE_NAME}” on pages with this key`], "the revocation of a key");
    await openAndExpect(`/moderation?bot=${bot.slug}`, "<img src=z onerror=alert\\(60\\)>", ...LITERAL);
    await openAndExpect(`/tools?bot=${bot.slug}`, HOSTILE_NAME);
    await openAndExpect(`/questions?bot=${bot.slug}`, "tool");
    const evaluationCase = { workspaceId: CONSOLE_WORKSPACE, botSlug: bot.slug, document: HOSTILE_NAME };
    await fixture.service.admin.evaluations.addCase({ ...evaluationCase, question: HOSTILE_NAME });
    await openAndExpect(`/evaluation?bot=${bot.slug}`, HOSTILE_NAME);
    await openAndExpect(`/knowledge?bot=${bot.slug}&title=${encodedName}&question=${encodedName}`, HOSTILE_NAME);
    await openAndExpect(`/conversations?bot=${bot.slug}`, visitorId);
    await page.getByRole("link", { name: visitorId }).click();
    await page
      .getByText(/passages? of knowledge/)
      .first()
      .click();
    await expectTexts(page, [visitorId, HOSTILE, ...LITERAL], "a conversation");
    await ownersConsole.button("Erase visitor").click();
    await expectTexts(page, [`Type ${visitorId} to confirm`], "the erasure of a visitor");
    await openAndExpect(`/conversations?q=${encodedName}&visitor=${encodedName}&bot=${encodedName}`, HOSTILE_NAME);
    await openAndExpect(`/playground?bot=${bot.slug}`, ...LITERAL);
    await ownersConsole.preview.locator("textarea").fill(HOSTILE);
    await ownersConsole.preview.locator("textarea").press("Enter");
    await ownersConsole.preview.locator(".assistant .rating").first().waitFor();
    await expectTexts(page, [HOSTILE], "the console's playground");
    await openAndExpect("/overview", "Messages a day");
    await openAndExpect("/usage", "By month");
    await openAndExpect(`/bots/${encodedName}`);
    await openAndExpect(`/${encodedName}`);
    expect(ownersConsole.problems).toEqual([]);
  }, 90_000);
});

/** Returns the texts of LITERAL that the element does not show unchanged. */
async function findMissingLiterals(element: Locator): Promise<string[]> {
  const shown = (await element.textContent()) ?? "";
  return LITERAL.filter((text) => !shown.includes(text));
}

async function replaceInResponse(route: Route, text: string, replacement: string): Promise<void> {
  const response = await route.fetch();
  await route.fulfill({ response, body: (await response.text()).replaceAll(text, () => replacement) });
}

/** Returns the text as a part of a JSON string. */
function toJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Returns the text as the console writes it into its page. */
function toHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
