import type { Page } from "playwright-core";

/** Adds each violated directive of the page's Content Security Policy to `violations`. */
export async function recordCspViolations(page: Page, violations: string[]): Promise<void> {
  await page.exposeFunction("reportViolation", (directive: string) => violations.push(directive));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective }) => {
      (window as unknown as { reportViolation(directive: string): void }).reportViolation(violatedDirective);
    });
  });
}
