import type { Page } from "playwright-core";

/** Adds to the list what the page's policy is violated by, from its first moment on. */
export async function recordViolations(page: Page, violations: string[]): Promise<void> {
  await page.exposeFunction("violated", (directive: string) => violations.push(directive));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective }) => {
      (window as unknown as { violated(directive: string): void }).violated(violatedDirective);
    });
  });
}
