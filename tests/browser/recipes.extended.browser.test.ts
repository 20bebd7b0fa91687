import { describeWith } from "@parley/test-support";
import { expect, it } from "vitest";
import { bundleApp } from "./bundle.ts";
import { describeInBrowser, eventually, type Visit } from "./fixture.ts";
import { readRecipe } from "./recipes.ts";
import { recordCspViolations } from "./violations.ts";
import { renderWithWordPress } from "./wordpress.ts";

/** A site with two pages. Only the first has the chat. */
const REACT_APP = `
  import { StrictMode, useState } from "react";
  import { createRoot } from "react-dom/client";
  import { Chat } from "./Chat.jsx";

  function Site() {
    const [page, go] = useState("shop");
    return (
      <main key={page}>
        <h1>{page}</h1>
        <button onClick={() => go("shop")}>Shop</button>
        <button onClick={() => go("account")}>Account</button>
        {page === "shop" && <Chat publicKey={window.publicKey} visitorId="customer-42" />}
      </main>
    );
  }
  createRoot(document.getElementById("app")).render(<StrictMode><Site /></StrictMode>);
`;

const VUE_APP = `
  import { createApp, h, ref } from "vue";
  import { useChat } from "./useChat.js";

  const Shop = { setup() { useChat(window.publicKey); return () => h("h1", "shop"); } };
  const Account = { render: () => h("h1", "account") };
  createApp({
    setup() {
      const page = ref(Shop);
      const link = (name, to) => h("button", { onClick: () => { page.value = to; } }, name);
      return () => h("main", [h(page.value), link("Shop", Shop), link("Account", Account)]);
    },
  }).mount("#app");
`;

/** Returns a script that adds a tag's scripts to the page as a tag manager does: it copies `src` or the text and drops other attributes. */
const tagManager = (tag: string) => `
  const html = new DOMParser().parseFromString(${JSON.stringify(tag).replaceAll("<", "\\u003c")}, "text/html");
  const fire = () => {
    for (const { text, src } of html.scripts) {
      document.body.append(Object.assign(document.createElement("script"), src ? { src } : { text }));
    }
  };
  addEventListener("load", () => setTimeout(fire, 100));
  addEventListener("popstate", fire);
`;

describeInBrowser("recipes of docs/embed.md", (fixture) => {
  const service = () => ({ url: fixture.service.url, publicKey: fixture.service.bot.publicKey });
  const visit = (body: string, more: Visit = {}) => fixture.visit({ body, isEmbedded: false, ...more });

  it("plain HTML embeds the widget", async () => {
    const [line = ""] = await readRecipe("Plain HTML", service());
    const widget = await visit(`<h1>A shop</h1>${line}`);
    await widget.open();
    await widget.askAndWait("quick");
    expect(await widget.texts()).toEqual(["quick", "Done."]);
    expect(widget.problems).toEqual([]);
  });

  it.each([
    ["React", "Chat.jsx", REACT_APP],
    ["Vue", "useChat.js", VUE_APP],
  ])("the %s component adds the widget to some pages and removes it from others", async (heading, file, app) => {
    const [component = ""] = await readRecipe(heading, service());
    const code = await bundleApp({ "app.jsx": app, [file]: component });
    const widget = await visit(
      `<div id="app"></div><script>window.publicKey = ${JSON.stringify(service().publicKey)};</script><script>${code}</script>`,
    );
    const go = (page: string) => widget.page.getByRole("button", { name: page }).click();
    await widget.open();
    await widget.askAndWait("quick");
    expect(widget.postedBodies("/api/chat/")[0]?.visitor_id).toBe(heading === "React" ? "customer-42" : undefined);
    await go("Account");
    await eventually(() => widget.host.count()).toBe(0);
    expect(await widget.page.evaluate(() => "Parley" in window)).toBe(false);
    // Changes the page faster than the widget's script can load.
    await widget.page.evaluate(async () => {
      for (const at of [0, 1, 0, 1]) {
        document.querySelectorAll("button")[at]?.click();
        await new Promise((resolve) => setTimeout(resolve));
      }
    });
    await widget.page.waitForLoadState("networkidle");
    expect(await widget.host.count()).toBe(0);
    await go("Shop");
    await widget.open();
    expect(await widget.texts()).toEqual(["quick", "Done."]);
    expect(await widget.host.count()).toBe(1);
    expect(widget.problems).toEqual([]);
  });

  describeWith("wordpress", "WordPress", () => {
    it("the plugin embeds the widget", async () => {
      const [plugin = ""] = await readRecipe("WordPress", service());
      const widget = await visit("", { html: await renderWithWordPress(plugin) });
      await widget.open();
      await widget.askAndWait("quick");
      expect(widget.problems).toEqual([]);
    });
  });

  it("a tag manager starts one widget even if the tag fires twice", async () => {
    const [tag = ""] = await readRecipe("Tag manager", service());
    const widget = await visit(`<h1>A shop</h1><script>${tagManager(tag)}</script>`);
    await widget.open();
    await widget.askAndWait("quick");
    await widget.page.evaluate(() => dispatchEvent(new PopStateEvent("popstate")));
    await widget.page.waitForLoadState("networkidle");
    expect(await widget.host.count()).toBe(1);
    expect(widget.requestedPaths().filter((path) => path === "/api/widget/config/")).toHaveLength(1);
    expect(widget.problems).toEqual([]);
  });

  it("the documented Content Security Policies, with and without 'strict-dynamic', allow the widget without violations", async () => {
    const [line = ""] = await readRecipe("Plain HTML", service());
    const [policy = ""] = await readRecipe("Strict Content-Security-Policy", service());
    const [nonceLine = "", noncePolicy = ""] = await readRecipe("With nonces", service());
    for (const [html, csp] of [
      [line, policy],
      [nonceLine, noncePolicy],
      [nonceLine, noncePolicy.replace(" 'strict-dynamic'", "")],
    ] as const) {
      const violations: string[] = [];
      const widget = await visit(`<h1>A strict shop</h1>${html}`, {
        headers: { "Content-Security-Policy": csp.trim() },
        prepare: (page) => recordCspViolations(page, violations),
      });
      await widget.open();
      await widget.askAndWait("markdown");
      await widget.ratingControls.getByRole("button").first().click();
      await widget.panel.getByRole("button", { name: "New conversation" }).click();
      await widget.launcher.click();
      expect(violations).toEqual([]);
      expect(widget.problems).toEqual([]);
      // Loads a forbidden script, to check that the policy is in force and that violations are recorded.
      await widget.page.addScriptTag({ url: "http://localhost:9/x.js" }).catch(() => undefined);
      await eventually(() => violations.length).toBeGreaterThan(0);
    }
  });

  it("page code controls the widget through the API and the attributes", async () => {
    const [button = "", api = "", listener = ""] = [
      ...(await readRecipe("Attributes", service())),
      ...(await readRecipe("From your own code", service())),
    ];
    const [line = ""] = await readRecipe("Plain HTML", service());
    const widget = await visit(`<h1>A shop</h1>${button}${line}<script>${listener}</script>`);
    const logged: string[] = [];
    widget.page.on("console", (message) => logged.push(message.text()));
    await widget.launcher.waitFor();
    await widget.page.addScriptTag({ content: api });
    await eventually(() => logged).toEqual(expect.arrayContaining(["user Where is my order?"]));
    await widget.ratingControls.waitFor();
    // Two listeners of the recipe log the message: one added with `Parley.on`, and one for the document's event.
    expect(logged.filter((line) => line === "user Where is my order?")).toHaveLength(2);
    expect(widget.postedBodies("/api/chat/")).toEqual([
      expect.objectContaining({ visitor_id: "customer-42", visitor_metadata: { plan: "gold" } }),
    ]);
    await widget.page.locator("[data-parley-send]").click();
    await widget.ratingControls.nth(1).waitFor();
    expect((await widget.texts()).filter((text) => text === "Where is my order?")).toHaveLength(2);
    expect(widget.problems).toEqual([]);
  });
});
