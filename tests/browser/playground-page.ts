import type { BrowserFixture } from "./fixture.ts";
import { WidgetPage } from "./widget-page.ts";

/**
 * Opens a bot's playground in a new browser context and enters the access token. The page has no widget: tests use `widgetPage` only for the
 * page's requests, problems and accessibility checks.
 */
export async function openPlayground(fixture: BrowserFixture, slug = fixture.service.bot.slug) {
  const page = await (await fixture.newContext()).newPage();
  const widgetPage = new WidgetPage(page, fixture.service.url);
  await page.goto(`${fixture.service.url}/playground?bot=${slug}`);
  await page.getByLabel("Access token").fill(fixture.service.system.token);
  const ask = async (text: string) => {
    await page.getByLabel("Your message", { exact: true }).fill(text);
    await page.getByRole("button", { name: "Send" }).click();
  };
  const status = page.getByRole("status");
  return { page, ask, status, widgetPage };
}
