import { eventually } from "./fixture.ts";
import type { WidgetPage } from "./widget-page.ts";

/** Opens the panel. If it is already open, starts a new conversation and ends offline mode. */
async function startConversation(widget: WidgetPage): Promise<void> {
  if (await widget.panel.isVisible()) {
    await widget.panel.getByRole("button", { name: "New conversation" }).click();
    await widget.page.context().setOffline(false);
  } else {
    await widget.open();
  }
}

/**
 * Functions that bring the widget into each state. `closed` requires a newly opened page; the other functions also accept a page that earlier
 * functions have used. The accessibility tests check these states with axe. The error states are missing, because errors.browser.test.ts checks
 * them.
 */
export const STATES = {
  closed: (widget) => widget.launcher.waitFor(),
  "just opened": startConversation,
  "waiting for an answer": async (widget) => {
    await startConversation(widget);
    await widget.ask("never answered");
    await widget.log.locator(".dots").waitFor();
  },
  streaming: async (widget) => {
    await startConversation(widget);
    await widget.ask("slow 300");
    await eventually(() => widget.answers.innerText()).toContain("word3");
  },
  answered: async (widget) => {
    await startConversation(widget);
    await widget.askAndWait("markdown");
  },
  rated: async (widget) => {
    await startConversation(widget);
    await widget.askAndWait("quick");
    await widget.panel.getByRole("button", { name: "Good answer" }).click();
  },
  stopped: async (widget) => {
    await startConversation(widget);
    await widget.ask("slow 300");
    await eventually(() => widget.answers.innerText()).toContain("word3");
    await widget.sendButton.click();
    await widget.notice.waitFor();
  },
  offline: async (widget) => {
    await startConversation(widget);
    await widget.page.context().setOffline(true);
    await widget.ask("hello");
    await widget.notice.waitFor();
  },
  "too long": async (widget) => {
    await startConversation(widget);
    await widget.input.fill("x".repeat(4002));
  },
  "scrolled up": async (widget) => {
    await startConversation(widget);
    await widget.askAndWait("tall 500");
    await widget.log.hover();
    await widget.page.mouse.wheel(0, -400);
    await widget.panel.getByRole("button", { name: "Newest message" }).waitFor();
  },
  "closed with an unread answer": async (widget) => {
    await startConversation(widget);
    await widget.ask("slow 50");
    await widget.page.evaluate(() => window.Parley?.close());
    await widget.launcher.locator(".badge").waitFor();
  },
} satisfies Readonly<Record<string, (widget: WidgetPage) => Promise<unknown>>>;
