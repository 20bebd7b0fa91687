import { describe, expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import type { WidgetPage } from "./widget-page.ts";

/** Runs in the page: counts the events that reach the page's listeners, and swallows letters as pages with shortcuts do. */
function listenForShortcuts(): void {
  const page = window as unknown as { seen: string[] };
  page.seen = [];
  const types = ["keydown", "keypress", "keyup", "input", "beforeinput", "paste", "copy", "wheel", "compositionstart"];
  for (const type of types) {
    for (const [name, target, isCapturing] of [
      ["document", document, false],
      ["capturing document", document, true],
      ["window", window, false],
    ] as const) {
      const listener = (event: Event) => {
        page.seen.push(`${name}: ${type}`);
        event.preventDefault();
      };
      target.addEventListener(type, listener, { capture: isCapturing, passive: false });
    }
  }
  // Added before the widget, as libraries do: the widget cannot stop the event, but the page recognizes the text field.
  window.addEventListener(
    "keydown",
    (event) => {
      const { isContentEditable } = event.target as HTMLElement;
      if (event.key.length === 1 && !isContentEditable) event.preventDefault();
    },
    true,
  );
}

/** Runs in the page: reads and clears what listenForShortcuts counted. */
function readSeen(): string[] {
  return (window as unknown as { seen: string[] }).seen.splice(0);
}

/** Returns the distances of the launcher from the right and bottom edges, and whether a click in its middle reaches it. */
function placeLauncher(widget: WidgetPage) {
  return widget.launcher.evaluate((button) => {
    const { left, right, top, bottom } = button.getBoundingClientRect();
    const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return [innerWidth - right, innerHeight - bottom, hit?.localName];
  });
}

const IN_CORNER = [20, 20, "parley-widget"];

describeInBrowser("the widget on pages with", (fixture) => {
  it("shortcuts: keys, text and scrolling in the chat stay in the chat, and the page's own keys work", async () => {
    const widget = await fixture.visitAndOpen({
      head: `<script>(${String(listenForShortcuts)})()</script>`,
      body: `<h1>x</h1><input aria-label="Search">`,
    });
    const { page } = widget;
    const { keyboard } = page;
    await page.evaluate(readSeen);
    await widget.input.focus();
    await keyboard.type("quick s/g?");
    expect(await widget.input.inputValue()).toBe("quick s/g?");
    await keyboard.press("Shift+Enter");
    await keyboard.press("Backspace");
    await keyboard.press("Control+a");
    await keyboard.press("Control+c");
    await keyboard.press("End");
    await keyboard.press("Control+v");
    expect(await widget.input.inputValue()).toBe("quick s/g?quick s/g?");
    await keyboard.press("Enter");
    await widget.ratingControls.waitFor();
    await widget.askAndWait("tall 500");
    await widget.log.hover();
    await page.mouse.wheel(0, -200);
    await widget.panel.getByRole("button", { name: "Newest message" }).waitFor();
    await widget.tabTo("Close chat", "Shift+Tab");
    await widget.tabTo("Your message");
    await keyboard.press("Escape");
    await eventually(() => widget.panel.isVisible()).toBe(false);
    expect(await page.evaluate(readSeen)).toEqual([]);
    await page.getByLabel("Search").focus();
    await keyboard.press("s");
    expect(await page.evaluate(readSeen)).toContain("document: keydown");
    await page.evaluate(() => window.Parley?.destroy());
    expect(widget.problems).toEqual([]);
  });

  it("shortcuts: a composed text is not cut, and its Enter does not send", async () => {
    const widget = await fixture.visitAndOpen({ head: `<script>(${String(listenForShortcuts)})()</script>` });
    await widget.input.focus();
    const client = await widget.page.context().newCDPSession(widget.page);
    await client.send("Input.imeSetComposition", { text: "すし", selectionStart: 2, selectionEnd: 2 });
    await client.send("Input.insertText", { text: "寿司" });
    expect(await widget.input.inputValue()).toBe("寿司");
    expect(await widget.page.evaluate(readSeen)).toEqual([]);
  });

  it.each([
    ["on focusin", `document.addEventListener("focusin", ({ target }) => dialog.contains(target) || field.focus())`],
    [
      "on a captured focusin",
      `document.addEventListener("focusin", ({ target }) => dialog.contains(target) || field.focus(), true)`,
    ],
    [
      "on a captured focus",
      `document.addEventListener("parley:open", () => addEventListener("focus", ({ target }) => dialog.contains(target) || field.focus(), true))`,
    ],
    [
      "on focusout",
      `document.addEventListener("focusout", ({ relatedTarget }) => relatedTarget && !dialog.contains(relatedTarget) && field.focus())`,
    ],
    [
      "on blur",
      `field.addEventListener("blur", ({ relatedTarget }) => relatedTarget && !dialog.contains(relatedTarget) && field.focus())`,
    ],
  ])("a dialog that takes the focus back %s: the chat keeps the focus, and the dialog too", async (_, script) => {
    const widget = await fixture.visit({
      body: `<h1>x</h1><a href="#a">Outside</a><div role="dialog" aria-modal="true" aria-label="Dialog"><input aria-label="Field"></div>
        <script>const dialog = document.querySelector("[role=dialog]"), field = dialog.firstChild; ${script}</script>`,
    });
    await widget.open();
    const { page } = widget;
    await page.getByLabel("Field").focus();
    await widget.input.click();
    await page.keyboard.type("quick");
    expect(await widget.input.inputValue()).toBe("quick");
    await page.getByLabel("Field").focus();
    await page.keyboard.type("abc");
    expect(await page.getByLabel("Field").inputValue()).toBe("abc");
    await page.getByText("Outside").focus();
    expect(await widget.focusedName()).toBe("Field");
  });

  it.each([
    [
      "a body with a filter, a transform, a perspective, a backdrop filter and containment",
      "body { filter: grayscale(1); transform: translateX(30px); perspective: 100px; will-change: transform; backdrop-filter: blur(1px); contain: strict; height: 50px }",
    ],
    ["a transformed html element", "html { transform: translate(10px, 10px); height: 3000px }"],
    ["a filtered html element", "html { filter: sepia(1); contain: paint; overflow: hidden; height: 100px }"],
    ["hidden overflow", "html, body { overflow: hidden; height: 100% }"],
    [
      "a hidden body with hidden children",
      "body { display: none } html > *:not(body):not(head), body > * { display: none !important; opacity: 0 !important }",
    ],
    [
      "a dark backdrop, popovers and a high z-index",
      `::backdrop { display: block !important; background: red !important; inset: 0 !important }
       [popover] { inset: 0; margin: auto; width: 300px; height: 300px; background: red } :popover-open { border: 9px solid }
       main { position: fixed; inset: 0; z-index: 2147483647; background: #fff }`,
    ],
    ["a scrolled page", "body { height: 5000px; scroll-padding: 40px } html { scroll-snap-type: y mandatory }"],
  ])("%s: the launcher is in the window's corner and opens the panel", async (_, css) => {
    const widget = await fixture.visit({ head: `<style>${css}</style>` });
    await widget.launcher.waitFor();
    await widget.page.mouse.wheel(0, 300);
    expect(await placeLauncher(widget)).toEqual(IN_CORNER);
    expect(
      await widget.page.evaluate(
        () => getComputedStyle(document.querySelector("parley-widget") as Element, "::backdrop").display,
      ),
    ).toBe("none");
    await widget.open();
    await widget.waitForAnimations();
    const box = await widget.panel.boundingBox();
    expect(Math.round((box?.x ?? 0) + (box?.width ?? 0))).toBe(980);
    await widget.askAndWait("quick");
  });

  it("popovers that the page closes, and a new body or html element: the widget stays", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.input.fill("half");
    await widget.page.evaluate(() => {
      for (const popover of document.querySelectorAll<HTMLElement>(":popover-open")) popover.hidePopover();
    });
    expect(await placeLauncher(widget)).toEqual(IN_CORNER);
    await widget.page.evaluate(() => document.body.replaceWith(document.createElement("body")));
    expect(await placeLauncher(widget)).toEqual(IN_CORNER);
    await widget.page.evaluate(() => {
      const html = document.createElement("html");
      html.append(document.createElement("head"), document.createElement("body"));
      document.documentElement.replaceWith(html);
    });
    await eventually(() => widget.host.count()).toBe(1);
    expect(await placeLauncher(widget)).toEqual(IN_CORNER);
    expect(await widget.input.inputValue()).toBe("half");
    await widget.askAndWait("quick");
  });

  it("a modal dialog or a full screen: they cover the widget, which is back afterwards", async () => {
    const widget = await fixture.visit({
      body: `<h1>x</h1><dialog aria-label="Dialog"><button>Close</button></dialog><video></video>`,
    });
    await widget.launcher.waitFor();
    const { page } = widget;
    await page.evaluate(() => document.querySelector("dialog")?.showModal());
    expect((await placeLauncher(widget)).at(-1)).not.toBe("parley-widget");
    await page.evaluate(() => document.querySelector("dialog")?.close());
    expect(await placeLauncher(widget)).toEqual(IN_CORNER);
    await page.evaluate(() => document.documentElement.requestFullscreen());
    await eventually(() => placeLauncher(widget)).toEqual(IN_CORNER);
    await page.evaluate(() => document.exitFullscreen());
    await eventually(() => placeLauncher(widget)).toEqual(IN_CORNER);
  });

  it("offsets from the edges, which keep the launcher in the window", async () => {
    const place = async (attributes: Readonly<Record<string, string>>, htmlAttributes = 'lang="en"') => {
      const widget = await fixture.visit({ attributes, htmlAttributes });
      await widget.launcher.waitFor();
      const button = await widget.launcher.boundingBox();
      await widget.open();
      await widget.waitForAnimations();
      const panel = await widget.panel.boundingBox();
      return [button, panel].map((box) => box && [box.x, 760 - box.y - box.height, box.width, box.height]);
    };
    const size = [56, 56];
    expect((await place({}))[0]).toEqual([924, 20, ...size]);
    expect(await place({ "data-offset-x": "60", "data-offset-y": "90px" })).toEqual([
      [884, 90, ...size],
      [556, 162, 384, 570],
    ]);
    expect((await place({ "data-offset-x": "0", "data-offset-y": "0" }))[0]).toEqual([944, 0, ...size]);
    expect((await place({ "data-offset-x": "-5", "data-offset-y": "near" }))[0]).toEqual([924, 20, ...size]);
    expect(await place({ "data-offset-x": "9999", "data-offset-y": "9999" })).toEqual([
      [0, 704, ...size],
      [20, 412, 288, 320],
    ]);
    const left = { "data-offset-x": "60", "data-position": "bottom-left" };
    expect((await place(left, 'lang="ar" dir="rtl"'))[0]).toEqual([60, 20, ...size]);
    expect((await place({ "data-offset-x": "60" }, 'lang="ar" dir="rtl"'))[0]).toEqual([884, 20, ...size]);
  });

  it("an own button instead of the launcher, which gets the focus back", async () => {
    const widget = await fixture.visit({
      attributes: { "data-launcher": "hidden" },
      body: `<h1>x</h1><button data-parley="toggle">Chat with us</button>`,
    });
    await widget.launcher.waitFor({ state: "attached" });
    const button = widget.page.getByText("Chat with us");
    await button.focus();
    await widget.page.keyboard.press("Enter");
    await widget.input.waitFor();
    await widget.waitForAnimations();
    expect(await widget.launcher.isVisible()).toBe(false);
    const panel = await widget.panel.boundingBox();
    expect(760 - (panel?.y ?? 0) - (panel?.height ?? 0)).toBe(20);
    await widget.askAndWait("quick");
    expect(await widget.findAxeViolations()).toEqual([]);
    await widget.page.keyboard.press("Escape");
    expect(await widget.focusedName()).toBe("Chat with us");
    expect(await widget.panel.isVisible()).toBe(false);
  });

  describe("scripts", () => {
    const openPage = async (body: string) => {
      const logged: string[] = [];
      const html = `<!doctype html><html lang="en"><title>x</title><body><h1>x</h1><div id="host"></div>${body}</body></html>`;
      const widget = await fixture.visit({
        html,
        prepare: async (page) => page.on("console", (message) => logged.push(message.text())),
      });
      return { widget, logged };
    };
    it("a script in a shadow root explains that it must be outside", async () => {
      const { widget, logged } = await openPage(`<script>
        const script = document.createElement("script");
        script.src = "${fixture.service.url}/widget.js";
        script.dataset.publicKey = "${fixture.service.bot.publicKey}";
        document.querySelector("#host").attachShadow({ mode: "open" }).append(script);
      </script>`);
      await eventually(() => logged).toEqual(["Parley: no script with src and data-public-key outside shadow roots"]);
      expect(await widget.host.count()).toBe(0);
    });

    it("a script that is a module, deferred, or started by another script", async () => {
      const { url, bot } = fixture.service;
      const attributes = `src="${url}/widget.js" data-public-key="${bot.publicKey}"`;
      const starts = [
        `<script type="module" ${attributes}></script>`,
        `<script defer ${attributes}></script>`,
        `<script type="text/delayed" ${attributes}></script><script src="${url}/widget.js"></script>`,
      ];
      for (const start of starts) {
        const { widget, logged } = await openPage(start);
        await widget.launcher.waitFor();
        expect(logged).toEqual([]);
        expect(await widget.host.count()).toBe(1);
      }
    });

    it.each(["", 'data-key="x"', 'data-publickey="x"', 'data-public-key=""'])(
      "a script whose attributes a plugin changed to %j: one message says what is missing",
      async (attributes) => {
        const { logged, widget } = await openPage(
          `<script async ${attributes} src="${fixture.service.url}/widget.js"></script>`,
        );
        await eventually(() => logged).toEqual([expect.stringContaining("no script with src and data-public-key")]);
        expect(await widget.host.count()).toBe(0);
      },
    );
  });

  it("links: a panel that was open is open on the next page of the tab, without taking the focus", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick");
    const { page } = widget;
    const url = page.url();
    await page.goto(`${url}?next`);
    await widget.input.waitFor();
    expect(await widget.texts()).toEqual(["quick", "Done."]);
    expect(await page.evaluate(() => document.activeElement?.localName)).toBe("body");
    expect(await widget.findAxeViolations()).toEqual([]);
    const other = await fixture.visit({ sameVisitorAs: widget });
    await other.launcher.waitFor();
    expect(await other.launcher.getAttribute("aria-busy")).toBeNull();
    expect(await other.launcher.getAttribute("aria-expanded")).toBe("false");
    await page.keyboard.press("Escape");
    await widget.launcher.click();
    await page.goto(`${url}?third`);
    await widget.launcher.waitFor();
    expect(await widget.launcher.getAttribute("aria-busy")).toBeNull();
    expect(await widget.panel.count()).toBe(0);
  });

  it("links: a panel that data-open opened and the visitor closed stays closed on the next page", async () => {
    const widget = await fixture.visit({ attributes: { "data-open": "" } });
    await widget.input.waitFor();
    await widget.launcher.click();
    await widget.page.reload();
    await widget.launcher.waitFor();
    expect(await widget.launcher.getAttribute("aria-busy")).toBeNull();
    await widget.open();
    await widget.page.reload();
    await widget.input.waitFor();
  });

  it("links: on a phone, the panel does not cover the next page", async () => {
    const widget = await fixture.visitAndOpen({ context: { viewport: { width: 375, height: 700 } } });
    await widget.page.reload();
    await widget.launcher.waitFor();
    expect(await widget.launcher.getAttribute("aria-busy")).toBeNull();
    await widget.open();
  });

  it("links: a page that the Back button shows again closes a panel that was closed on a later page", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.page.evaluate(() => {
      const [key = ""] = Object.keys(sessionStorage);
      sessionStorage.setItem(key, "false");
      dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
    });
    await eventually(() => widget.panel.isVisible()).toBe(false);
  });

  it("refused storage: the next page starts with a closed panel", async () => {
    const widget = await fixture.visitAndOpen({
      prepare: (page) =>
        page.addInitScript(() => {
          for (const name of ["localStorage", "sessionStorage"]) {
            Object.defineProperty(window, name, {
              get() {
                throw new DOMException("refused", "SecurityError");
              },
            });
          }
        }),
    });
    await widget.page.reload();
    await widget.launcher.waitFor();
    expect(await widget.launcher.getAttribute("aria-busy")).toBeNull();
    expect(widget.problems).toEqual([]);
  });
});
