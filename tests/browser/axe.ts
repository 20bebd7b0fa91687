import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type axe from "axe-core";
import type { Page } from "playwright-core";

/** The minified build, because a browser parses it in half the time. */
const AXE_SOURCE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** Waits until the animations of the page and the widget end, except infinite ones such as the typing dots. */
export async function waitForAnimations(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const roots = [document, document.querySelector("parley-widget")?.shadowRoot];
    const animations = roots.flatMap((root) => root?.getAnimations() ?? []);
    const finite = animations.filter(({ effect }) => effect?.getTiming().iterations !== Number.POSITIVE_INFINITY);
    await Promise.allSettled(finite.map(({ finished }) => finished));
  });
}

/** Returns the accessibility problems that axe finds in the page and its shadow roots, as `rule: element summary`. */
export async function findAxeViolations(page: Page, { iframes = true } = {}): Promise<string[]> {
  await waitForAnimations(page);
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE_SOURCE);
  return page.evaluate(
    async (options) => {
      const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(document, {
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
        // Faster: axe does not describe elements without violations.
        resultTypes: ["violations"],
        ...options,
      });
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${String(target)} ${failureSummary}`),
      );
    },
    { iframes },
  );
}
