import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("the widget on pages that a framework or a tag manager changes", (fixture) => {
  it("keeps its panel, text and scroll position when the page replaces the body", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("tall 500");
    await widget.input.fill("half a mess");
    await widget.log.evaluate((log) => {
      log.scrollTop = 120;
    });
    await eventually(() => widget.panel.getByRole("button", { name: "Newest message" }).isVisible()).toBe(true);
    for (let replacements = 0; replacements < 3; replacements++) {
      await widget.page.evaluate(() => {
        const body = document.createElement("body");
        body.append(Object.assign(document.createElement("h1"), { textContent: "Another page" }));
        document.body.replaceWith(body);
      });
      await eventually(() => widget.host.count()).toBe(1);
    }
    expect(await widget.input.inputValue()).toBe("half a mess");
    await eventually(() => widget.log.evaluate((log) => log.scrollTop)).toBe(120);
    await widget.askAndWait("quick");
  });

  it("comes back when the page empties the body or removes the widget's element", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.page.evaluate(() => document.body.replaceChildren());
    await eventually(() => widget.host.count()).toBe(1);
    await widget.host.evaluate((host) => host.remove());
    await eventually(() => widget.host.count()).toBe(1);
    await widget.askAndWait("quick");
  });

  it("keeps streaming when the page changes its URL and empties the body", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.ask("slow 40");
    await eventually(() => widget.answers.innerText()).toContain("word3");
    await widget.page.evaluate(() => {
      history.pushState({}, "", "/elsewhere");
      document.body.replaceChildren();
    });
    await widget.ratingControls.waitFor();
    expect((await widget.texts())[1]).toContain("word40");
  });

  it("exists once even if its script is loaded several times", async () => {
    const widget = await fixture.visit({ body: `<h1>x</h1>${fixture.scriptElement()}` });
    await widget.launcher.waitFor();
    const load = (key: string) =>
      widget.page.evaluate(
        async ([url, publicKey]) => {
          const script = document.createElement("script");
          script.dataset.publicKey = publicKey;
          script.src = url as string;
          const loaded = new Promise((resolve) => script.addEventListener("load", resolve));
          document.head.append(script);
          await loaded;
          script.remove();
        },
        [`${fixture.service.url}/widget.js`, key],
      );
    await load(fixture.service.bot.publicKey);
    await widget.page.waitForLoadState("networkidle");
    expect(await widget.host.count()).toBe(1);
    expect(widget.requestedPaths().filter((path) => path === "/api/widget/config/")).toHaveLength(1);
    // Loading the script with another bot's key replaces the widget.
    const { publicKey } = await fixture.service.addBot({ name: "Other" });
    await load(publicKey);
    await eventually(() => widget.launcher.getAttribute("aria-label")).toBe("Chat: Other");
    expect(await widget.host.count()).toBe(1);
    expect(widget.problems).toEqual([]);
  });

  it("starts from a script that a tag manager adds after the page has loaded", async () => {
    const { page } = await fixture.visit({ publicKey: "svc_pk_unknown" });
    await page.evaluate(
      ([url, key]) => {
        window.Parley?.destroy();
        const script = document.createElement("script");
        script.async = true;
        script.setAttribute("data-public-key", key as string);
        script.src = url as string;
        document.querySelector("script")?.before(script);
      },
      [`${fixture.service.url}/widget.js`, fixture.service.bot.publicKey],
    );
    await page.locator("parley-widget .launcher").waitFor();
  });
});
