import { expect, it } from "vitest";
import { describeInBrowser } from "./fixture.ts";

const HOSTILE = `<style>
  * { display: none !important; font: 40px/3 fantasy !important; color: lime !important; letter-spacing: 1em !important; }
  html, head, body, main, h1 { display: block !important; }
  parley-widget { visibility: hidden !important; opacity: 0 !important; transform: scale(0.1) !important; filter: invert(1) !important; pointer-events: none !important; }
  button, textarea, [role=dialog] { background: red !important; position: static !important; }
  :root { direction: rtl; word-spacing: 3em; text-transform: uppercase; --accent: red; --bg: red; --edge: 50vw; --radius: 0; }
</style>`;

/** Leaves out the indexes that the browser adds for frames. */
const listGlobals = () => Object.getOwnPropertyNames(window).filter((name) => !/^\d+$/.test(name));

describeInBrowser("isolation", (fixture) => {
  it("looks the same on a page with hostile styles", async () => {
    const readStyles = async (head: string) => {
      const widget = await fixture.visitAndOpen({ head, attributes: { "data-lang": "en" }, body: "<h1>x</h1>" });
      await widget.askAndWait("quick");
      await widget.waitForAnimations();
      return widget.host.evaluate((host) => {
        const parts = [".launcher", ".panel", "h2", ".bubble", "textarea", ".send", ".avatar", ".thumb"];
        return parts.map((part) => {
          const element = host.shadowRoot?.querySelector(part) as HTMLElement;
          const { x, y, width, height } = element.getBoundingClientRect();
          const { color, backgroundColor, fontSize, fontFamily, letterSpacing, textTransform, direction } =
            getComputedStyle(element);
          return {
            part,
            x,
            y,
            width,
            height,
            color,
            backgroundColor,
            fontSize,
            fontFamily,
            letterSpacing,
            textTransform,
            direction,
          };
        });
      });
    };
    expect(await readStyles(HOSTILE)).toEqual(await readStyles(""));
  });

  it("adds only one element and one global to the page", async () => {
    const widget = await fixture.visit({
      prepare: (page) => page.addInitScript(`window.before = (${String(listGlobals)})().concat("before")`),
    });
    const snapshot = () =>
      widget.page.evaluate(() => ({
        html: [...document.documentElement.attributes].map(({ name, value }) => `${name}=${value}`),
        head: document.head.children.length,
        elements: [...document.querySelectorAll("html > *, body > *")].map(({ tagName }) => tagName),
        styles: document.styleSheets.length + document.adoptedStyleSheets.length,
      }));
    await widget.open();
    await widget.askAndWait("quick");
    // The page's own head has five elements: two meta elements, the title, the icon and the widget's script.
    expect(await snapshot()).toEqual({
      html: ["lang=en"],
      head: 5,
      elements: ["HEAD", "BODY", "MAIN", "PARLEY-WIDGET"],
      styles: 0,
    });
    const added = await widget.page.evaluate(
      `(${String(listGlobals)})().filter((name) => !window.before.includes(name))`,
    );
    expect(added).toEqual(["Parley"]);
    expect(widget.problems).toEqual([]);
  });

  it("hides the launcher when the page is printed", async () => {
    const widget = await fixture.visit();
    await widget.launcher.waitFor();
    await widget.page.emulateMedia({ media: "print" });
    expect(await widget.launcher.isVisible()).toBe(false);
  });
});
