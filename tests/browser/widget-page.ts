import type { Locator, Page, Request, Route } from "playwright-core";
import { findAxeViolations, waitForAnimations } from "./axe.ts";

export class WidgetPage {
  readonly page: Page;
  /** Uncaught errors and console errors, except failed requests. */
  readonly problems: string[] = [];
  readonly requests: Request[] = [];
  readonly #edgeUrl: string;

  constructor(page: Page, edgeUrl: string) {
    this.page = page;
    this.#edgeUrl = edgeUrl;
    page.on("pageerror", (error) => this.problems.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
        this.problems.push(message.text());
      }
    });
    page.on("request", (request) => this.requests.push(request));
  }

  get host(): Locator {
    return this.page.locator("parley-widget");
  }
  get launcher(): Locator {
    return this.host.locator(".launcher");
  }
  get panel(): Locator {
    return this.host.getByRole("dialog");
  }
  get input(): Locator {
    return this.panel.locator(".composer textarea");
  }
  /** The Send button. While an answer is streaming, this button stops the answer. */
  get sendButton(): Locator {
    return this.panel.locator(".send");
  }
  get log(): Locator {
    return this.panel.getByRole("log");
  }
  /** The visitor's messages and the answers, without the welcome message. */
  get messages(): Locator {
    return this.log.locator(".messages > .message");
  }
  get answers(): Locator {
    return this.log.locator(".messages > .assistant");
  }
  get notice(): Locator {
    return this.log.locator(".notice").filter({ visible: true });
  }

  /** Announces the state of a turn and the results of actions to screen readers. */
  get status(): Locator {
    return this.host.locator("[role=status]").last();
  }

  /**
   * Records what the widget announces to screen readers, from now on. Returns a function that returns the announcements so far, in their order. The
   * paragraphs of one announcement are separated by ` / `.
   */
  async recordAnnouncements(): Promise<() => Promise<string[]>> {
    const recorded = await this.host.evaluateHandle((host) => {
      const announcements: string[] = [];
      for (const region of host.shadowRoot?.querySelectorAll("[role=status]") ?? []) {
        const record = () => {
          const text = [...region.children].map((line) => line.textContent).join(" / ");
          if (text) announcements.push(text);
        };
        new MutationObserver(record).observe(region, { childList: true, characterData: true, subtree: true });
      }
      return announcements;
    });
    return () => recorded.evaluate((announcements) => [...announcements]);
  }

  /** Opens the panel. Only waits for it if it opens by itself, because it was open on the previous page. */
  async open(): Promise<void> {
    await this.launcher.waitFor({ state: "attached" });
    const opensItself = await this.launcher.evaluate(
      (button) => (button.getAttribute("aria-busy") ?? button.getAttribute("aria-expanded")) === "true",
    );
    if (!opensItself) await this.launcher.click();
    await this.input.waitFor();
  }

  async ask(text: string): Promise<void> {
    await this.input.fill(text);
    await this.input.press("Enter");
  }

  async askAndWait(text: string): Promise<void> {
    const earlierAnswers = await this.ratingControls.count();
    await this.ask(text);
    await this.ratingControls.nth(earlierAnswers).waitFor();
  }

  /** The rating buttons, one group for each complete answer. Other answers have none. */
  get ratingControls(): Locator {
    return this.answers.locator(".rating").filter({ visible: true });
  }

  async texts(): Promise<string[]> {
    return this.messages.locator(".bubble").filter({ visible: true }).allInnerTexts();
  }

  postedBodies(path: string): Record<string, unknown>[] {
    return this.requests
      .filter((request) => request.method() === "POST" && new URL(request.url()).pathname === path)
      .map((request) => request.postDataJSON() as Record<string, unknown>);
  }

  requestedPaths(): string[] {
    return this.requests
      .map((request) => new URL(request.url()))
      .filter(({ origin }) => origin === this.#edgeUrl)
      .map(({ pathname }) => pathname);
  }

  /** Replaces the service's response to the next `times` chat requests. */
  async mockChat(
    response: { status?: number; headers?: Record<string, string>; body: string },
    times = 1,
  ): Promise<void> {
    let remaining = times;
    // Not the option `times`: it ends the interception while the widget sends its next request, whose event Playwright may then lose.
    await this.page.route("**/api/chat/", (route: Route) => {
      if (remaining-- <= 0) return route.fallback();
      return route.fulfill({
        status: response.status ?? 200,
        contentType: response.status ? "application/json" : "text/event-stream",
        headers: {
          "Access-Control-Allow-Origin": route.request().headers().origin ?? "*",
          "Access-Control-Expose-Headers": "Retry-After, RateLimit, RateLimit-Policy, Parley-Request-Id",
          ...response.headers,
        },
        body: response.body,
      });
    });
  }

  refuseChat(status: number, code: string, headers: Record<string, string> = {}, times = 1): Promise<void> {
    return this.mockChat({ status, headers, body: JSON.stringify({ error: code }) }, times);
  }

  streamChat(events: readonly (readonly [name: string, data: unknown])[], times = 1): Promise<void> {
    const body = events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join("");
    return this.mockChat({ body }, times);
  }

  /** Waits until all animations end, except infinite ones such as the typing dots. */
  waitForAnimations(): Promise<void> {
    return waitForAnimations(this.page);
  }

  /** Waits until animations end. Returns the accessibility problems of the page and the widget. */
  findAxeViolations(): Promise<string[]> {
    return findAxeViolations(this.page);
  }

  /** Returns the accessible name of the focused element, or its tag if it has no name. Looks inside shadow roots. */
  focusedName(): Promise<string> {
    return this.page.evaluate(() => {
      let element = document.activeElement;
      while (element?.shadowRoot?.activeElement) {
        element = element.shadowRoot.activeElement;
      }
      const label = (element as HTMLInputElement | null)?.labels?.[0]?.textContent;
      return (
        element?.getAttribute("aria-label") ||
        label ||
        element?.textContent.trim() ||
        element?.tagName.toLowerCase() ||
        ""
      );
    });
  }

  /** Presses the key until the element with this accessible name has the focus. */
  async tabTo(name: string, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
    for (let presses = 0; presses < 30; presses++) {
      await this.page.keyboard.press(key);
      if ((await this.focusedName()) === name) {
        return;
      }
    }
    throw new Error(`${key} never reached ${name}`);
  }
}

/** Returns the events of a complete answer. */
export function reply(text: string, messageId = 1): [string, unknown][] {
  return [
    ["meta", { session_id: crypto.randomUUID(), message_id: messageId }],
    ["token", { text }],
    ["done", { finish_reason: "stop", tokens_in: 1, tokens_out: 1, latency_ms: 1, model: "scripted:test" }],
  ];
}
