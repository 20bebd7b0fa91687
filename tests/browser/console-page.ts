import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { BrowserContextOptions, FrameLocator, Locator, Page, Request } from "playwright-core";
import { findAxeViolations } from "./axe.ts";
import type { BrowserFixture } from "./fixture.ts";
import { recordCspViolations } from "./violations.ts";

/** Enough for the Keys screen, which lists the public keys of all tests. Each key has three buttons. */
const MAX_TAB_PRESSES = 400;

/** A browser tab with the owners' console. */
export class ConsolePage {
  readonly tab: Page;
  /** Uncaught errors, errors in the browser's console, and violated directives of the content security policy. */
  readonly problems: string[] = [];
  readonly requests: Request[] = [];
  readonly #url: string;

  private constructor(page: Page, url: string) {
    this.tab = page;
    this.#url = url;
    page.on("pageerror", (error) => this.problems.push(error.message));
    page.on("console", (message) => {
      // Chromium reports each refused request as an error: a 401 of an expired token or a missing session, and any status of a call.
      const isRefusal = message.text().includes("401") || message.location().url.includes("/api/rpc/");
      if (message.type() === "error" && !isRefusal) this.problems.push(message.text());
    });
    page.on("request", (request) => this.requests.push(request));
  }

  static async open(page: Page, url: string): Promise<ConsolePage> {
    const opened = new ConsolePage(page, url);
    await recordCspViolations(page, opened.problems);
    return opened;
  }

  async goto(path: string): Promise<void> {
    await this.tab.goto(this.#url + path);
  }

  /** Signs in without the sign-in page. Waits for the screen with this heading. */
  async signIn(path = "/", heading = "Overview"): Promise<void> {
    await this.goto(`/auth/sign-in?return_to=${encodeURIComponent(path)}`);
    await this.heading(heading).waitFor();
  }

  /** Opens a path and signs in with one click on the sign-in page. Waits for the screen with this heading. */
  async signInWithClick(path = "/", heading = "Overview"): Promise<void> {
    await this.goto(path);
    await this.tab.getByRole("link", { name: "Sign in" }).click();
    await this.heading(heading).waitFor();
  }

  /** Signs in with an account of the development sign-in, such as `demo-viewer`. */
  async signInAs(account: string, path = "/"): Promise<void> {
    const address = `${this.#url}/auth/sign-in?return_to=${encodeURIComponent(path)}`;
    // Stores the response's cookie in this browser context. Without the cookie, the console refuses the callback.
    const response = await this.tab.context().request.get(address, { maxRedirects: 0 });
    await this.tab.goto(`${response.headers().location}&login_hint=${account}`);
  }

  /** Opens a screen from the navigation. On a phone the navigation is in the menu. */
  async openScreen(name: string): Promise<void> {
    const menu = this.tab.getByRole("button", { name: "Open the menu" });
    if (await menu.isVisible()) await menu.click();
    await this.tab.getByRole("link", { name, exact: true }).click();
    await this.heading(name).waitFor();
  }

  heading(name: string): Locator {
    return this.tab.getByRole("heading", { level: 1, name, exact: true });
  }
  heading2(name: string): Locator {
    return this.tab.getByRole("heading", { level: 2, name, exact: true });
  }
  button(name: string): Locator {
    return this.tab.getByRole("button", { name, exact: true });
  }
  field(label: string): Locator {
    return this.tab.getByLabel(label, { exact: true });
  }
  /** The message with the result of the last action. An error stays until it is closed. */
  get announcement(): Locator {
    return this.tab.locator(".announcement");
  }
  /** The frame with the real widget. */
  get preview(): FrameLocator {
    return this.tab.frameLocator("iframe[title='Preview of the widget']");
  }

  dropFile(name: string, text: string): Promise<void> {
    return this.dropFiles({ [name]: text });
  }

  /** Drops files on the drop zone in one drop. `files` maps names to contents. Without a file, drops a text. */
  async dropFiles(files: Readonly<Record<string, string>>): Promise<void> {
    const zone = this.tab.locator(".drop-zone");
    await zone.waitFor();
    const dataTransfer = await this.tab.evaluateHandle((contents) => {
      const transfer = new DataTransfer();
      for (const [name, content] of contents) transfer.items.add(new File([content], name));
      if (contents.length === 0) transfer.setData("text/plain", "a dragged text");
      return transfer;
    }, Object.entries(files));
    await zone.dispatchEvent("drop", { dataTransfer });
  }

  /** Replaces the responses of an admin method, such as `ListBots`; of every method by default. Returns a function that ends this. */
  async replaceResponses(
    { status = 200, code, body = {} }: { status?: number; code?: string; body?: object },
    method = "*",
  ): Promise<() => Promise<void>> {
    const url = `**/api/rpc/*/${method}`;
    const headers = code === undefined ? {} : { "parley-code": code };
    await this.tab.route(url, (route) => route.fulfill({ status, headers, json: body }));
    return () => this.tab.unroute(url);
  }

  /** Holds the calls of an admin method, such as `AddSource`. Returns a function that releases them. */
  async holdCalls(method: string): Promise<() => void> {
    const released = Promise.withResolvers<void>();
    await this.tab.route(`**/api/rpc/*/${method}`, async (route) => {
      await released.promise;
      await route.fallback();
    });
    return released.resolve;
  }

  /** Presses Tab (or Shift+Tab) until the element, or an element with this name, label or text, has the focus. */
  async tabTo(target: string | RegExp | Locator, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
    for (let presses = 0; presses < MAX_TAB_PRESSES; presses++) {
      await this.tab.keyboard.press(key);
      if (await this.#hasFocus(target)) return;
    }
    throw new Error(`${key} never reached ${target}`);
  }

  async #hasFocus(target: string | RegExp | Locator): Promise<boolean> {
    if (typeof target === "object" && "locator" in target) {
      return target.evaluate((element) => element.matches(":focus"));
    }
    const focused = await this.focusedName();
    return typeof target === "string" ? focused === target : target.test(focused);
  }

  /** Returns the name of the focused element: its label or its text. Returns the tag, such as `BODY` or `MAIN`, of the other elements. */
  focusedName(): Promise<string> {
    return this.tab.evaluate(() => {
      const element = document.activeElement ?? document.body;
      if (["BODY", "MAIN", "IFRAME"].includes(element.tagName)) return element.tagName;
      const label = (element as HTMLInputElement).labels?.[0]?.textContent;
      return (element.ariaLabel ?? label ?? element.textContent).trim();
    });
  }

  /** Presses keys to replace the text of the field that has the focus. */
  async retype(text: string): Promise<void> {
    await this.tab.keyboard.press("Control+a");
    await this.tab.keyboard.type(text);
  }

  /** Returns the paths of the API and sign-in requests that the page has sent since this method last ran. */
  takeRequestPaths(): string[] {
    const paths = this.requests.splice(0).map((request) => new URL(request.url()).pathname);
    return paths.filter((path) => /^\/(?:api|auth)\//.test(path));
  }

  /** Waits until the page has sent no request for 500 ms. */
  async waitUntilQuiet(): Promise<void> {
    let sent: number;
    do {
      sent = this.requests.length;
      await sleep(500);
    } while (this.requests.length > sent);
  }

  /** Returns the accessibility problems of the page without the preview, because the widget has its own tests. */
  findAxeViolations(): Promise<string[]> {
    return findAxeViolations(this.tab, { iframes: false });
  }

  scrollsSideways(): Promise<boolean> {
    return this.tab.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  }

  /** Saves a screenshot in the directory that PARLEY_CONSOLE_PICTURES names. Without the variable, does nothing. */
  async savePicture(name: string): Promise<void> {
    const directory = process.env.PARLEY_CONSOLE_PICTURES;
    if (!directory) return;
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, `${name}.png`), await this.tab.screenshot({ animations: "disabled" }));
  }
}

/** Creates a tab for the console in a new browser context. The tab is blank until `goto` or `signIn`. */
export async function openConsole(fixture: BrowserFixture, options: BrowserContextOptions = {}) {
  const context = await fixture.newContext(options);
  const page = await ConsolePage.open(await context.newPage(), fixture.service.system.consoleUrl);
  return { page, context };
}
