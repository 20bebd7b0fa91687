import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { BotConfig } from "../../packages/widget/src/shared/types.ts";
import { describeInBrowser, eventually, type Visit } from "./fixture.ts";
import { expectReadableText } from "./readable-text.ts";

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** Changes the configuration that the page receives, so that tests can use values that the service refuses to store. */
async function overrideConfig(page: Page, changes: Partial<BotConfig>): Promise<void> {
  await page.route("**/api/widget/config/**", async (route) => {
    const response = await route.fetch();
    const { bot } = (await response.json()) as { bot: BotConfig };
    await route.fulfill({ response, json: { bot: { ...bot, ...changes } } });
  });
}

describeInBrowser("bot configuration", (fixture) => {
  const open = async (changes: Partial<BotConfig>, visit: Visit = {}) =>
    fixture.visitAndOpen({ ...(await fixture.service.addBot(changes)), ...visit });

  it("shows the name, the welcome message and the quick replies, and a click on a quick reply sends it", async () => {
    const widget = await open({
      name: "Ada",
      welcome_message: "Welcome to **us**!",
      quick_replies: ["quick one", "Two?"],
    });
    expect(await widget.panel.getByRole("heading").innerText()).toBe("Ada");
    expect(await widget.log.locator(".bubble strong").innerText()).toBe("us");
    const chips = widget.panel.getByRole("group", { name: "Suggestions" }).getByRole("button");
    expect(await chips.allInnerTexts()).toEqual(["quick one", "Two?"]);
    await chips.first().click();
    await widget.ratingControls.waitFor();
    expect(await widget.texts()).toEqual(["quick one", "Done."]);
    expect(await chips.first().isVisible()).toBe(false);
  });

  it("shows no welcome bubble and no quick replies if the bot has none", async () => {
    const widget = await open({ welcome_message: "", quick_replies: [] });
    expect(await widget.log.locator(".bubble").filter({ visible: true }).count()).toBe(0);
    expect(await widget.log.innerText()).toBe("");
  });

  it("shows the logo if its URL is safe, or the first letter of the bot's name if the logo cannot be loaded", async () => {
    const logo = { logo_url: "https://cdn.example/logo.png" };
    const shown = await open(logo, {
      prepare: (page) => page.route(logo.logo_url, (route) => route.fulfill({ contentType: "image/png", body: PIXEL })),
    });
    await eventually(() =>
      shown.panel.locator("img.avatar").evaluate((img: HTMLImageElement) => img.naturalWidth),
    ).toBe(1);
    const broken = await open(
      { ...logo, name: "Ähre" },
      { prepare: (page) => page.route(logo.logo_url, (route) => route.abort()) },
    );
    await eventually(() => broken.panel.locator(".avatar").innerText()).toBe("Ä");
    const unsafe = await open({}, { prepare: (page) => overrideConfig(page, { logo_url: "javascript:alert(1)" }) });
    expect(await unsafe.panel.locator("img").count()).toBe(0);
  });

  it("keeps text readable with the color #7f7f7f in both themes", async () => {
    await expectReadableText(await open({ primary_color: "#7f7f7f", theme_mode: "system" }));
  });

  it.each(["bottom-left", "bottom-right"])(
    "appears at the %s in left-to-right and right-to-left languages",
    async (position) => {
      for (const lang of ["en", "ar"]) {
        const widget = await open({ position }, { attributes: { "data-lang": lang } });
        const { width } = widget.page.viewportSize() ?? { width: 0 };
        for (const part of [widget.launcher, widget.panel]) {
          const box = await part.boundingBox();
          expect(position === "bottom-left" ? box?.x : width - (box?.x ?? 0) - (box?.width ?? 0)).toBeCloseTo(20, 0);
        }
      }
    },
  );

  it("applies the font, the radius and the CSS variables, but no other property in custom_css_vars", async () => {
    const custom_css_vars = { "--parley-width": "20em", "--parley-bg": "rgb(250, 240, 230)" };
    const widget = await open(
      { font_family: "Georgia, serif", border_radius: 3, custom_css_vars },
      { prepare: (page) => overrideConfig(page, { custom_css_vars: { ...custom_css_vars, color: "red" } }) },
    );
    const style = await widget.panel.evaluate((panel) => {
      const { fontFamily, borderRadius, width, backgroundColor, color } = getComputedStyle(panel);
      return { fontFamily, borderRadius, width, backgroundColor, color };
    });
    expect(style).toEqual({
      fontFamily: "Georgia, serif, system-ui, sans-serif",
      borderRadius: "3px",
      width: "320px",
      backgroundColor: "rgb(250, 240, 230)",
      color: "rgb(27, 30, 36)",
    });
    const round = await open({ border_radius: 64 });
    expect(await round.launcher.evaluate((element) => getComputedStyle(element).borderRadius)).toBe("min(128px, 50%)");
    const square = await open({ border_radius: 0 });
    expect(await square.launcher.evaluate((element) => getComputedStyle(element).borderRadius)).toBe("min(0px, 50%)");
  });

  it("the script element's position and theme override the bot's", async () => {
    const widget = await open(
      { position: "bottom-right", theme_mode: "light" },
      { attributes: { "data-position": "bottom-left", "data-theme": "dark" } },
    );
    expect((await widget.panel.boundingBox())?.x).toBe(20);
    expect(await widget.panel.evaluate((panel) => getComputedStyle(panel).backgroundColor)).toBe("rgb(22, 24, 29)");
  });

  it("shows the texts of the visitor's language, and otherwise the bot's own", async () => {
    const { publicKey, slug } = await fixture.service.addBot({ name: "Ada", welcome_message: "Welcome!" });
    const { workspaceId } = fixture.service.system;
    const texts = {
      de: { welcomeMessage: "Willkommen!", quickReplies: ["Wo seid ihr?"], words: { placeholder: "Frag uns …" } },
      en: { words: { placeholder: "Ask us" } },
    };
    await fixture.service.admin.bots.updateBot({ workspaceId, slug, changes: { texts: { values: texts } } });
    const read = async (lang: string) => {
      const widget = await fixture.visitAndOpen({ publicKey, htmlAttributes: `lang="${lang}"` });
      return [
        await widget.log.locator(".bubble").first().innerText(),
        await widget.input.getAttribute("placeholder"),
        (await widget.panel.locator(".chip").allInnerTexts()).at(-1),
      ];
    };
    const own = "Can I return something?";
    expect(await read("de-AT")).toEqual(["Willkommen!", "Frag uns …", "Wo seid ihr?"]);
    expect(await read("en-GB")).toEqual(["Welcome!", "Ask us", own]);
    expect(await read("fa")).toEqual(["Welcome!", "Ask us", own]);
    expect(await read("fr")).toEqual(["Welcome!", "Écrivez un message…", own]);
  });
});
