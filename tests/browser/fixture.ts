import { describeWith, isFullRun } from "@parley/test-support";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, inject } from "vitest";
import { type BrowserKind, getSharedChromium } from "./chromium.ts";
import type {} from "./global-setup.ts";
import { Service } from "./service.ts";
import { type Site, startSite } from "./site.ts";
import { WidgetPage } from "./widget-page.ts";

/** The page to visit. */
export interface Visit {
  /** Attributes of the script element, in addition to its key. */
  readonly attributes?: Readonly<Record<string, string>>;
  readonly publicKey?: string;
  /** Attributes of the html element. Default: `lang="en"`. */
  readonly htmlAttributes?: string;
  /** False for a page without the script element that starts the widget. */
  readonly isEmbedded?: boolean;
  /** The complete page. If it is set, the other fields from `attributes` to `body` are ignored. */
  readonly html?: string;
  /** HTML that is added to the page's head. */
  readonly head?: string;
  /** The content of the page's main element. */
  readonly body?: string;
  /** Headers of the response that contains the page. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly context?: BrowserContextOptions;
  /** Another page of the same visitor. The new page opens in that page's browser context. */
  readonly sameVisitorAs?: WidgetPage;
  /** Runs before the page is opened. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

/** The service, a customer's site on another origin, and a browser. */
export class BrowserFixture {
  readonly #contexts = new Set<BrowserContext>();
  #pages = 0;
  #parts: { readonly service: Service; readonly site: Site; readonly browser: Browser } | undefined;

  async open(kind: BrowserKind): Promise<void> {
    const system = inject("system");
    if (!system) throw new Error("the global setup did not start a system");
    const [service, site, browser] = await Promise.all([Service.open(system), startSite(), getSharedChromium(kind)]);
    this.#parts = { service, site, browser };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#contexts].map((context) => context.close()));
    await Promise.all([this.#parts?.site.close(), this.#parts?.service.close()]);
  }

  /** Closes a test's browser contexts, and gives the next test another client address. */
  async clear(): Promise<void> {
    const contexts = [...this.#contexts];
    // A page may be waiting for a request that a test intercepts. Without unrouteAll, the test's handler would fail when the context closes.
    const pages = contexts.flatMap((context) => context.pages());
    await Promise.all(pages.map((page) => page.unrouteAll({ behavior: "ignoreErrors" })));
    await Promise.all(contexts.map((context) => context.close()));
    this.#contexts.clear();
    this.service.nextVisitor();
  }

  get #opened() {
    if (!this.#parts) throw new Error("the fixture is not open");
    return this.#parts;
  }
  get service(): Service {
    return this.#opened.service;
  }
  get site(): Site {
    return this.#opened.site;
  }

  /** Opens a browser context that is closed after the test. */
  async newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const context = await this.#opened.browser.newContext({ viewport: { width: 1000, height: 760 }, ...options });
    this.#contexts.add(context);
    return context;
  }

  scriptElement(attributes: Readonly<Record<string, string>> = {}, publicKey = this.service.bot.publicKey): string {
    const all = Object.entries({ ...attributes, "data-public-key": publicKey });
    const attributeText = all.map(([name, value]) => `${name}="${value.replaceAll('"', "&quot;")}"`).join(" ");
    return `<script async src="${this.service.url}/widget.js" ${attributeText}></script>`;
  }

  /** Opens a page, which embeds the widget by default. */
  async visit(visit: Visit = {}): Promise<WidgetPage> {
    const context = visit.sameVisitorAs?.page.context() ?? (await this.newContext(visit.context));
    const page = await context.newPage();
    const widget = new WidgetPage(page, this.service.url);
    await visit.prepare?.(page);
    const script = visit.isEmbedded === false ? "" : this.scriptElement(visit.attributes, visit.publicKey);
    const html = `<!doctype html><html ${visit.htmlAttributes ?? 'lang="en"'}><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>A customer's page</title>
<link rel="icon" href="data:,">${visit.head ?? ""}${script}</head>
<body><main>${visit.body ?? '<h1>A shop</h1><p>With <a href="#terms">terms</a>.</p>'}</main></body></html>`;
    await page.goto(this.site.addPage(`/page-${++this.#pages}`, visit.html ?? html, visit.headers));
    return widget;
  }

  async visitAndOpen(visit: Visit = {}): Promise<WidgetPage> {
    const widget = await this.visit(visit);
    await widget.open();
    return widget;
  }

  /** Expects several chat requests with the same idempotency key, and one complete turn. */
  async expectOneTurn(pages: readonly WidgetPage[], path = "/api/chat/"): Promise<void> {
    const requests = pages.flatMap((page) => page.requests);
    const chats = requests.filter((request) => request.method() === "POST" && request.url().endsWith(path));
    expect(chats.length).toBeGreaterThan(1);
    expect(new Set(chats.map((request) => request.headers()["idempotency-key"])).size).toBe(1);
    const sessionId = chats[0]?.postDataJSON().session_id;
    expect(await this.service.readTranscriptField(sessionId, "status")).toEqual(["done", "done"]);
  }
}

/** Runs a suite in Chromium's headless shell. If Chromium is missing, skips the suite and reports that. */
export const describeInBrowser = (name: string, suite: (fixture: BrowserFixture) => void) =>
  describeIn("headless-shell", name, suite);

/** Like describeInBrowser, but only in `pnpm test:full`: for details whose main path other suites check. */
export const describeInBrowserBeforeRelease: typeof describeInBrowser = (name, suite) =>
  describe.runIf(isFullRun)("before a release", () => describeInBrowser(name, suite));

/** Runs a suite in the full browser, for tests of rendering. A page costs twice the CPU time of one in the headless shell. */
export const describeInFullBrowser = (name: string, suite: (fixture: BrowserFixture) => void) =>
  describeIn("full", name, suite);

function describeIn(kind: BrowserKind, name: string, suite: (fixture: BrowserFixture) => void): void {
  describeWith("chromium", name, () => {
    const fixture = new BrowserFixture();
    beforeAll(() => fixture.open(kind));
    afterEach(() => fixture.clear());
    afterAll(() => fixture.close());
    suite(fixture);
  });
}

/** Polls `read` until its value passes the assertion that follows, for example `.toBe(1)`. */
export function eventually<Value>(read: () => Value | Promise<Value>, timeoutMs = 10_000) {
  return expect.poll(read, { timeout: timeoutMs, interval: 50 });
}
