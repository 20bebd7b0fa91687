import { expect, it } from "vitest";
import { describeInBrowser, eventually, type Visit } from "./stage.ts";
import type { WidgetPage } from "./widget-page.ts";

const MOBILE: Visit = { context: { viewport: { width: 320, height: 640 } } };

/** The states of the widget; errors have axe run on them in errors.browser.test.ts. */
const STATES = {
  closed: (widget) => widget.launcher.waitFor(),
  "just opened": (widget) => widget.open(),
  writing: async (widget) => {
    await widget.open();
    await widget.ask("never answered");
    await widget.log.locator(".dots").waitFor();
  },
  streaming: async (widget) => {
    await widget.open();
    await widget.ask("slow 300");
    await eventually(() => widget.answers.innerText()).toContain("word3");
  },
  answered: async (widget) => {
    await widget.open();
    await widget.askAndWait("markdown");
  },
  rated: async (widget) => {
    await widget.open();
    await widget.askAndWait("quick");
    await widget.panel.getByRole("button", { name: "Good answer" }).click();
  },
  stopped: async (widget) => {
    await widget.open();
    await widget.ask("slow 300");
    await eventually(() => widget.answers.innerText()).toContain("word3");
    await widget.button.click();
    await widget.notice.waitFor();
  },
  offline: async (widget) => {
    await widget.open();
    await widget.page.context().setOffline(true);
    await widget.ask("hello");
    await widget.notice.waitFor();
  },
  "too long": async (widget) => {
    await widget.open();
    await widget.input.fill("x".repeat(4002));
  },
  "scrolled up": async (widget) => {
    await widget.open();
    await widget.askAndWait("long 500");
    await widget.log.hover();
    await widget.page.mouse.wheel(0, -400);
    await widget.panel.getByRole("button", { name: "Newest message" }).waitFor();
  },
  "closed with news": async (widget) => {
    await widget.open();
    await widget.ask("slow 5");
    await widget.page.keyboard.press("Escape");
    await widget.launcher.locator(".badge").waitFor();
  },
} satisfies Readonly<Record<string, (widget: WidgetPage) => Promise<unknown>>>;

const USUAL = { colorScheme: "light", reducedMotion: "no-preference", forcedColors: "none" } as const;

/** How visitors may have set their systems; the widget follows while it is open. */
const SYSTEMS = {
  light: {},
  dark: { colorScheme: "dark" },
  "with reduced motion": { reducedMotion: "reduce" },
  "with forced colours": { forcedColors: "active" },
} as const;

describeInBrowser("accessibility", (stage) => {
  const { light, dark } = SYSTEMS;
  for (const [size, visit, systems] of [
    ["beside the page", {}, SYSTEMS],
    ["at 320 px", MOBILE, { light, dark }],
  ] as const) {
    const names = Object.keys(systems).join(", ");
    it.each(Object.entries(STATES))(`axe finds nothing ${size} when it is %s: ${names}`, async (_, reach) => {
      const widget = await stage.visit({ ...visit, attributes: { "data-theme": "system" } });
      await reach(widget);
      for (const [name, media] of Object.entries(systems)) {
        const system = { ...USUAL, ...media };
        await widget.page.emulateMedia(system);
        // The theme comes with the panel.
        if ((await widget.panel.count()) > 0) {
          await eventually(() => widget.host.locator(".root").getAttribute("data-theme")).toBe(system.colorScheme);
        }
        expect(await widget.violations(), name).toEqual([]);
      }
      expect(widget.problems).toEqual([]);
    });
  }

  it.each(["answered", "just opened", "scrolled up"] as const)(
    "axe finds nothing from right to left when it is %s",
    async (state) => {
      const widget = await stage.visit({ attributes: { "data-lang": "en" }, htmlAttributes: 'lang="en" dir="rtl"' });
      await STATES[state](widget);
      expect(await widget.violations()).toEqual([]);
    },
  );

  it("axe finds something where there is something", async () => {
    const widget = await stage.visitAndOpen({ body: '<h1>x</h1><img src="data:,">' });
    expect((await widget.violations()).join()).toContain("image-alt");
  });

  it("takes a visitor from opening to closing with the keyboard alone", async () => {
    const widget = await stage.visit();
    await widget.launcher.waitFor();
    const { keyboard } = widget.page;
    await widget.tabTo("Chat: Sample Shop");
    await keyboard.press("Enter");
    await eventually(() => widget.focused()).toBe("Your message");
    // Ask, by the suggestion and by hand.
    await widget.tabTo("How long does delivery take?", "Shift+Tab");
    await keyboard.press("Enter");
    await widget.ratable.first().waitFor();
    expect(await widget.focused()).toBe("Your message");
    await keyboard.type("long 400");
    await keyboard.press("Enter");
    await widget.ratable.nth(1).waitFor();
    // Read: the log scrolls with the keys.
    await widget.tabTo("Conversation", "Shift+Tab");
    await keyboard.press("End");
    const belowEnd = () => widget.log.evaluate((log) => log.scrollHeight - log.clientHeight - log.scrollTop);
    await eventually(belowEnd).toBeLessThan(2);
    const top = await widget.log.evaluate((log) => log.scrollTop);
    await keyboard.press("PageUp");
    await eventually(() => widget.log.evaluate((log) => log.scrollTop)).toBeLessThan(top);
    // Rate.
    await widget.tabTo("Good answer");
    await keyboard.press("Space");
    await eventually(() => widget.posted("/api/chat/rating/")).toHaveLength(1);
    // Stop.
    await widget.tabTo("Your message");
    await keyboard.type("slow 300");
    await keyboard.press("Enter");
    await eventually(() => widget.answers.last().innerText()).toContain("word2");
    await widget.tabTo("Stop");
    await keyboard.press("Enter");
    await widget.notice.waitFor();
    expect(await widget.focused()).toBe("Send");
    // Start anew.
    await widget.tabTo("New conversation", "Shift+Tab");
    await keyboard.press("Enter");
    await eventually(() => widget.texts()).toEqual([]);
    expect(await widget.focused()).toBe("Your message");
    // Close, and be where it began.
    await keyboard.press("Escape");
    expect(await widget.panel.isVisible()).toBe(false);
    expect(await widget.focused()).toBe("Chat: Sample Shop");
    expect(await widget.launcher.getAttribute("aria-expanded")).toBe("false");
  });

  it("keeps the focus in the panel, in both directions", async () => {
    const widget = await stage.visitAndOpen();
    await eventually(() => widget.focused()).toBe("Your message");
    const seen = new Set<string>();
    for (let presses = 0; presses < 14; presses++) {
      await widget.page.keyboard.press("Tab");
      seen.add(await widget.focused());
    }
    expect(seen).toEqual(
      new Set([
        "Send",
        "New conversation",
        "Close chat",
        "Conversation",
        "How long does delivery take?",
        "Can I return something?",
        "Your message",
      ]),
    );
    await widget.tabTo("New conversation");
    await widget.page.keyboard.press("Shift+Tab");
    expect(await widget.focused()).toBe("Send");
  });

  it("gives the focus back to the page's own button that opened it", async () => {
    const widget = await stage.visit({ body: '<h1>x</h1><button data-parley="open">Ask us</button>' });
    await widget.launcher.waitFor();
    await widget.page.getByRole("button", { name: "Ask us" }).focus();
    await widget.page.keyboard.press("Enter");
    await eventually(() => widget.focused()).toBe("Your message");
    await widget.page.keyboard.press("Escape");
    expect(await widget.focused()).toBe("Ask us");
  });

  it("announces an answer once, and not token by token", async () => {
    const widget = await stage.visitAndOpen();
    await widget.host.evaluate((host) => {
      const heard: string[] = [];
      Object.assign(window, { heard });
      const regions = [...(host.shadowRoot?.querySelectorAll("[role=status],[role=alert],[aria-live]") ?? [])];
      for (const region of regions.filter((it) => it.getAttribute("aria-live") !== "off")) {
        new MutationObserver(() => heard.push(region.textContent)).observe(region, {
          childList: true,
          characterData: true,
          subtree: true,
        });
      }
    });
    await widget.askAndWait("slow 25");
    const heard = await widget.page.evaluate(() => (window as unknown as { heard: string[] }).heard.filter(Boolean));
    expect(heard).toEqual([expect.stringMatching(/^word1 .* word25 ?$/)]);
    expect(await widget.log.getAttribute("aria-live")).toBe("off");
  });

  it("is modal where it covers the page, and only there", async () => {
    expect(await (await stage.visitAndOpen()).panel.getAttribute("aria-modal")).toBe("false");
    const mobile = await stage.visitAndOpen(MOBILE);
    expect(await mobile.panel.getAttribute("aria-modal")).toBe("true");
    await eventually(() => mobile.panel.boundingBox()).toEqual({ x: 0, y: 0, width: 320, height: 640 });
    await mobile.panel.getByRole("button", { name: "Close chat" }).click();
    expect(await mobile.focused()).toBe("Chat: Sample Shop");
  });

  it("brings up no keyboard over the conversation where a finger opens it", async () => {
    const context = { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true };
    const widget = await stage.visit({ context });
    await widget.launcher.tap();
    await widget.input.waitFor();
    await eventually(() => widget.panel.evaluate((panel) => panel.matches(":focus"))).toBe(true);
    await widget.input.tap();
    await widget.askAndWait("quick");
    expect(await widget.focused()).toBe("Your message");
    expect(await widget.violations()).toEqual([]);
  });

  it.each([
    ["at 320 px", { width: 320, height: 640 }, 1],
    ["at 200 % zoom", { width: 640, height: 400 }, 2],
    ["at 400 % zoom", { width: 320, height: 256 }, 4],
  ])("fits %s without scrolling sideways", async (_, viewport, deviceScaleFactor) => {
    const widget = await stage.visitAndOpen({ context: { viewport, deviceScaleFactor } });
    await widget.askAndWait(`quick ${"unbreakable".repeat(20)}`);
    await widget.askAndWait("markdown");
    const spill = await widget.host.evaluate((host) =>
      [...(host.shadowRoot?.querySelectorAll(".panel, .panel *") ?? [])]
        .filter((it) => !it.closest(".sr, svg") && it.checkVisibility())
        .filter((it) => {
          const { left, right } = it.getBoundingClientRect();
          return (
            left < -0.5 ||
            right > innerWidth + 0.5 ||
            (it.clientWidth > 0 && it.scrollWidth > it.clientWidth + 1 && it.tagName !== "H2")
          );
        })
        .map((it) => it.className || it.tagName),
    );
    expect(spill).toEqual([]);
    expect(await widget.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    expect((await widget.log.boundingBox())?.height).toBeGreaterThan(60);
  });

  it("grows with the visitor's own font size", async () => {
    const widget = await stage.visitAndOpen();
    const height = async () => (await widget.input.boundingBox())?.height ?? 0;
    const before = await height();
    await widget.host.locator(".root").evaluate((root) => {
      root.style.fontSize = "2em";
    });
    expect(await height()).toBeGreaterThan(before * 1.8);
  });

  it("has targets of at least 24 by 24 px", async () => {
    const widget = await stage.visitAndOpen();
    await widget.refuseChat(503, "unavailable");
    await widget.ask("quick");
    await widget.notice.waitFor();
    await widget.askAndWait("quick");
    for (const button of await widget.host.getByRole("button").all()) {
      const box = await button.boundingBox();
      expect(Math.min(box?.width ?? 0, box?.height ?? 0), await button.innerText()).toBeGreaterThanOrEqual(24);
    }
  });

  it("moves nothing where motion is reduced", async () => {
    const widget = await stage.visit({ context: { reducedMotion: "reduce" } });
    await STATES.writing(widget);
    const moving = await widget.host.evaluate(
      (host) =>
        (host.shadowRoot as unknown as DocumentOrShadowRoot & { getAnimations(): Animation[] }).getAnimations().length,
    );
    expect(moving).toBe(0);
  });

  it("draws its edges where colours are forced", async () => {
    const widget = await stage.visitAndOpen({ context: { forcedColors: "active" } });
    await widget.askAndWait("quick");
    await widget.panel.getByRole("button", { name: "Good answer" }).click();
    const edges = await widget.host.evaluate((host) =>
      [".launcher", ".panel", ".user .bubble", ".assistant .bubble", ".send", "textarea", ".thumb"].map((part) => {
        const { borderTopColor, borderTopStyle } = getComputedStyle(host.shadowRoot?.querySelector(part) as Element);
        return [part, borderTopStyle === "solid" && borderTopColor !== "rgba(0, 0, 0, 0)"];
      }),
    );
    expect(edges.filter(([, drawn]) => !drawn)).toEqual([]);
    expect(await widget.violations()).toEqual([]);
  });
});
