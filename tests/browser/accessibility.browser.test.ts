import { expect, it } from "vitest";
import { contrastRatio, type Rgb } from "../../packages/widget/src/shared/color.ts";
import { describeInBrowser, eventually, type Visit } from "./fixture.ts";
import { STATES } from "./widget-states.ts";

// The first word of a visitor's message selects the fake provider's reply, and a number sets the reply's length: see replies.ts.

const MOBILE: Visit = { context: { viewport: { width: 320, height: 640 } } };

/** Returns the contrast of two computed colours, such as `rgb(0, 0, 0)`. */
function contrast(...colors: [string | undefined, string | undefined]): number {
  const [one, other] = colors.map((color) => (color ?? "").match(/\d+/g)?.map(Number) as unknown as Rgb);
  return contrastRatio(one as Rgb, other as Rgb);
}

describeInBrowser("accessibility", (fixture) => {
  it("has no axe violation on a right-to-left page when just opened, after an answer, and when scrolled up", async () => {
    const widget = await fixture.visit({ attributes: { "data-lang": "en" }, htmlAttributes: 'lang="en" dir="rtl"' });
    for (const state of ["just opened", "answered", "scrolled up"] as const) {
      await STATES[state](widget);
      expect(await widget.findAxeViolations(), state).toEqual([]);
    }
  });

  it("can be used with the keyboard alone", async () => {
    const widget = await fixture.visit();
    await widget.launcher.waitFor();
    const { keyboard } = widget.page;
    await widget.tabTo("Chat: Sample Shop");
    await keyboard.press("Enter");
    await eventually(() => widget.focusedName()).toBe("Your message");
    // Ask with a suggestion and by typing.
    await widget.tabTo("How long does delivery take?", "Shift+Tab");
    await keyboard.press("Enter");
    await widget.ratingControls.first().waitFor();
    expect(await widget.focusedName()).toBe("Your message");
    await keyboard.type("tall 400");
    await keyboard.press("Enter");
    await widget.ratingControls.nth(1).waitFor();
    // Scroll the log.
    await widget.tabTo("Conversation", "Shift+Tab");
    await keyboard.press("End");
    const distanceToEndPx = () => widget.log.evaluate((log) => log.scrollHeight - log.clientHeight - log.scrollTop);
    await eventually(distanceToEndPx).toBeLessThan(2);
    const top = await widget.log.evaluate((log) => log.scrollTop);
    await keyboard.press("PageUp");
    await eventually(() => widget.log.evaluate((log) => log.scrollTop)).toBeLessThan(top);
    // Rate.
    await widget.tabTo("Good answer");
    await keyboard.press("Space");
    await eventually(() => widget.postedBodies("/api/chat/rating/")).toHaveLength(1);
    // Stop.
    await widget.tabTo("Your message");
    await keyboard.type("slow 300");
    await keyboard.press("Enter");
    await eventually(() => widget.answers.last().innerText()).toContain("word2");
    await widget.tabTo("Stop");
    await keyboard.press("Enter");
    await widget.notice.waitFor();
    expect(await widget.focusedName()).toBe("Send");
    // Start a new conversation.
    await widget.tabTo("New conversation", "Shift+Tab");
    await keyboard.press("Enter");
    await eventually(() => widget.texts()).toEqual([]);
    expect(await widget.focusedName()).toBe("Your message");
    // Close: the focus returns to the launcher.
    await keyboard.press("Escape");
    expect(await widget.panel.isVisible()).toBe(false);
    expect(await widget.focusedName()).toBe("Chat: Sample Shop");
    expect(await widget.launcher.getAttribute("aria-expanded")).toBe("false");
  });

  it("lets Tab and Shift+Tab leave the panel, also when data-open opened it", async () => {
    const widget = await fixture.visit({ attributes: { "data-open": "" } });
    await widget.open();
    await widget.input.focus();
    await widget.tabTo("terms");
    await widget.tabTo("Send", "Shift+Tab");
    await widget.tabTo("New conversation", "Shift+Tab");
    await widget.tabTo("terms", "Shift+Tab");
    await widget.page.keyboard.press("Escape");
    expect(await widget.panel.isVisible()).toBe(true);
  });

  it("where the panel covers the page, the page is inert until the panel closes", async () => {
    const widget = await fixture.visitAndOpen(MOBILE);
    const isInert = () => widget.page.evaluate(() => document.body.inert);
    expect(await isInert()).toBe(true);
    const names = new Set<string>();
    for (let presses = 0; presses < 12; presses++) {
      await widget.page.keyboard.press("Tab");
      names.add(await widget.focusedName());
    }
    expect(names).toContain("Send");
    expect(names).toContain("Close chat");
    expect(names).not.toContain("terms");
    // An inert element cannot get the focus.
    await widget.page.evaluate(() => document.querySelector("a")?.focus());
    expect(await widget.focusedName()).not.toBe("terms");
    // A framework replaces the body.
    await widget.page.evaluate(() => {
      document.body = document.createElement("body");
    });
    await eventually(isInert).toBe(true);
    await widget.input.focus();
    await widget.page.keyboard.press("Escape");
    expect(await isInert()).toBe(false);
    await widget.open();
    expect(await isInert()).toBe(true);
    await widget.page.evaluate(() => window.Parley?.destroy());
    expect(await isInert()).toBe(false);
  });

  it("returns the focus to the page's button that opened the panel", async () => {
    const widget = await fixture.visit({ body: '<h1>x</h1><button data-parley="open">Ask us</button>' });
    await widget.launcher.waitFor();
    await widget.page.getByRole("button", { name: "Ask us" }).focus();
    await widget.page.keyboard.press("Enter");
    await eventually(() => widget.focusedName()).toBe("Your message");
    await widget.page.keyboard.press("Escape");
    expect(await widget.focusedName()).toBe("Ask us");
  });

  it("is modal only when it covers the page", async () => {
    expect(await (await fixture.visitAndOpen()).panel.getAttribute("aria-modal")).toBe("false");
    const mobile = await fixture.visitAndOpen(MOBILE);
    expect(await mobile.panel.getAttribute("aria-modal")).toBe("true");
    await eventually(() => mobile.panel.boundingBox()).toEqual({ x: 0, y: 0, width: 320, height: 640 });
    await mobile.panel.getByRole("button", { name: "Close chat" }).click();
    expect(await mobile.focusedName()).toBe("Chat: Sample Shop");
  });

  it("becomes modal when the window becomes small while the panel is open, and the reverse", async () => {
    const { page, panel } = await fixture.visitAndOpen();
    const state = async () => [await panel.getAttribute("aria-modal"), await page.evaluate(() => document.body.inert)];
    await page.setViewportSize({ width: 320, height: 640 });
    await eventually(state).toEqual(["true", true]);
    await page.setViewportSize({ width: 1000, height: 760 });
    await eventually(state).toEqual(["false", false]);
  });

  it("moves the focus to the newest message with the button that leads there", async () => {
    const widget = await fixture.visitAndOpen();
    await STATES["scrolled up"](widget);
    await widget.tabTo("Newest message", "Shift+Tab");
    await widget.page.keyboard.press("Enter");
    expect(await widget.messages.last().evaluate((message) => message.matches(":focus"))).toBe(true);
    await widget.page.keyboard.press("Escape");
    expect(await widget.panel.isVisible()).toBe(false);
  });

  it("keeps room for the messages at 400 % zoom while a long message is written", async () => {
    const widget = await fixture.visitAndOpen({ context: { viewport: { width: 320, height: 256 } } });
    await widget.input.fill("long ".repeat(200));
    expect((await widget.log.boundingBox())?.height).toBeGreaterThan(60);
    expect((await widget.input.boundingBox())?.height).toBeGreaterThan(40);
  });

  it.each(["#ffffff", "#808080"])("shows which thumb is pressed with the colour %s", async (color) => {
    const { publicKey } = await fixture.service.addBot({ primary_color: color });
    for (const theme of ["light", "dark"]) {
      const widget = await fixture.visitAndOpen({ publicKey, attributes: { "data-theme": theme } });
      await widget.askAndWait("quick");
      await widget.panel.getByRole("button", { name: "Good answer" }).click();
      const [pressed = [], other = []] = await widget.ratingControls
        .getByRole("button")
        .evaluateAll((all) =>
          all.map((thumb) => [getComputedStyle(thumb).backgroundColor, getComputedStyle(thumb).color]),
        );
      const panelColor = await widget.panel.evaluate((panel) => getComputedStyle(panel).backgroundColor);
      expect(contrast(pressed[0], panelColor), theme).toBeGreaterThan(3);
      expect(contrast(pressed[0], pressed[1]), theme).toBeGreaterThan(3);
      expect(contrast(other[1], panelColor), theme).toBeGreaterThan(3);
    }
  });

  it("does not open the on-screen keyboard when opened by touch", async () => {
    const context = { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true };
    const widget = await fixture.visit({ context });
    await widget.launcher.tap();
    await widget.input.waitFor();
    await eventually(() => widget.panel.evaluate((panel) => panel.matches(":focus"))).toBe(true);
    await widget.input.tap();
    await widget.askAndWait("quick");
    expect(await widget.focusedName()).toBe("Your message");
    expect(await widget.findAxeViolations()).toEqual([]);
  });

  it("stays in the visible part of the page when the on-screen keyboard opens and the page is panned", async () => {
    const { panel, page } = await fixture.visitAndOpen({ context: { viewport: { width: 360, height: 640 } } });
    // Headless Chromium has no on-screen keyboard. Safari on iOS changes these values and dispatches these events.
    for (const [event, height, offsetTop] of [
      ["resize", 300, 340],
      ["scroll", 300, 200],
      ["resize", 640, 0],
    ] as const) {
      await page.evaluate(
        ({ type, ...values }) => {
          for (const [name, value] of Object.entries(values)) {
            Object.defineProperty(visualViewport, name, { value, configurable: true });
          }
          visualViewport?.dispatchEvent(new Event(type));
        },
        { type: event, height, offsetTop },
      );
      await eventually(() => panel.boundingBox()).toEqual({ x: 0, y: offsetTop, width: 360, height });
    }
  });

  it.each([
    ["at 320 px", { width: 320, height: 640 }, 1],
    ["at 200 % zoom", { width: 640, height: 400 }, 2],
    ["at 400 % zoom", { width: 320, height: 256 }, 4],
  ])("fits %s without scrolling sideways", async (_, viewport, deviceScaleFactor) => {
    const widget = await fixture.visitAndOpen({ context: { viewport, deviceScaleFactor } });
    await widget.askAndWait(`quick ${"unbreakable".repeat(20)}`);
    await widget.askAndWait("markdown");
    const overflowing = await widget.host.evaluate((host) =>
      [...(host.shadowRoot?.querySelectorAll(".panel, .panel *") ?? [])]
        .filter((element) => !element.closest(".sr, svg") && element.checkVisibility())
        .filter((element) => {
          const { left, right } = element.getBoundingClientRect();
          return (
            left < -0.5 ||
            right > innerWidth + 0.5 ||
            (element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1 && element.tagName !== "H2")
          );
        })
        .map((element) => element.className || element.tagName),
    );
    expect(overflowing).toEqual([]);
    expect(await widget.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    expect((await widget.log.boundingBox())?.height).toBeGreaterThan(60);
  });

  it("scales with the font size", async () => {
    const widget = await fixture.visitAndOpen();
    const height = async () => (await widget.input.boundingBox())?.height ?? 0;
    const before = await height();
    await widget.host.locator(".root").evaluate((root) => {
      root.style.fontSize = "2em";
    });
    expect(await height()).toBeGreaterThan(before * 1.8);
  });

  it("has click targets of at least 24 by 24 px", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.refuseChat(503, "unavailable");
    await widget.ask("quick");
    await widget.notice.waitFor();
    await widget.askAndWait("quick");
    const buttons = await widget.host.getByRole("button").all();
    expect(buttons.length).toBeGreaterThan(1);
    for (const button of buttons) {
      const box = await button.boundingBox();
      expect(Math.min(box?.width ?? 0, box?.height ?? 0), await button.innerText()).toBeGreaterThanOrEqual(24);
    }
  });

  it("runs no animation if the visitor prefers reduced motion", async () => {
    const widget = await fixture.visit({ context: { reducedMotion: "reduce" } });
    await STATES["waiting for an answer"](widget);
    const animations = await widget.host.evaluate(
      (host) =>
        (host.shadowRoot as unknown as DocumentOrShadowRoot & { getAnimations(): Animation[] }).getAnimations().length,
    );
    expect(animations).toBe(0);
  });

  it("draws borders if the system forces its colors", async () => {
    const widget = await fixture.visitAndOpen({ context: { forcedColors: "active" } });
    await widget.askAndWait("quick");
    await widget.panel.getByRole("button", { name: "Good answer" }).click();
    const borders = await widget.host.evaluate((host) =>
      [".launcher", ".panel", ".user .bubble", ".assistant .bubble", ".send", "textarea", ".thumb"].map((selector) => {
        const { borderTopColor, borderTopStyle } = getComputedStyle(
          host.shadowRoot?.querySelector(selector) as Element,
        );
        return [selector, borderTopStyle === "solid" && borderTopColor !== "rgba(0, 0, 0, 0)"];
      }),
    );
    expect(borders.filter(([, isDrawn]) => !isDrawn)).toEqual([]);
    expect(await widget.findAxeViolations()).toEqual([]);
  });
});
