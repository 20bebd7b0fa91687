import { describeWith } from "@parley/test-support";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";
import { type BrowserKind, launchChromium } from "./chromium.ts";
import type {} from "./global-setup.ts";
import { Service } from "./service.ts";
import { type Site, startSite } from "./site.ts";
import { WidgetPage } from "./widget-page.ts";

/** What to visit. */
export interface Visit {
  /** Attributes of the script element beside its key. */
  readonly attributes?: Readonly<Record<string, string>>;
  readonly publicKey?: string;
  /** Attributes of the html element; `lang="en"` when not given. */
  readonly htmlAttributes?: string;
  /** False for a page that starts the widget by itself, in another way than the one line. */
  readonly isEmbedded?: boolean;
  /** The whole page, instead of all that makes one. */
  readonly html?: string;
  /** What the page holds in its head and its main part. */
  readonly head?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly context?: BrowserContextOptions;
  /** Visits within a browser context that is there already: another page or tab of the same visitor. */
  readonly sameVisitorAs?: WidgetPage;
  /** Called before the page is opened. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

/** The service, a customer's site on another origin, and a Chromium; for one test file. */
export class Stage {
  readonly #contexts = new Set<BrowserContext>();
  #pages = 0;
  #parts: { readonly service: Service; readonly site: Site; readonly browser: Browser } | undefined;

  async open(kind: BrowserKind): Promise<void> {
    const system = inject("system");
    if (!system) throw new Error("the run has started no system");
    const [service, site, browser] = await Promise.all([Service.open(system), startSite(), launchChromium(kind)]);
    this.#parts = { service, site, browser };
  }

  async close(): Promise<void> {
    await this.#parts?.browser.close();
    await Promise.all([this.#parts?.site.close(), this.#parts?.service.close()]);
  }

  /** Closes what a test opened. */
  async clear(): Promise<void> {
    await Promise.all([...this.#contexts].map((context) => context.close()));
    this.#contexts.clear();
    this.service.nextVisitor();
  }

  get #open() {
    if (!this.#parts) throw new Error("the stage is not open");
    return this.#parts;
  }
  get service(): Service {
    return this.#open.service;
  }
  get site(): Site {
    return this.#open.site;
  }

  /** A context of the stage's own, closed after the test. */
  async context(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const context = await this.#open.browser.newContext({ viewport: { width: 1000, height: 760 }, ...options });
    this.#contexts.add(context);
    return context;
  }

  /** The one line that embeds the widget. */
  embed(attributes: Readonly<Record<string, string>> = {}, publicKey = this.service.bot.publicKey): string {
    const all = Object.entries({ ...attributes, "data-public-key": publicKey });
    const written = all.map(([name, value]) => `${name}="${value.replaceAll('"', "&quot;")}"`).join(" ");
    return `<script async src="${this.service.url}/widget.js" ${written}></script>`;
  }

  /** Opens a page that embeds the widget. Errors on it fail the test that looks at `page.problems`. */
  async visit(visit: Visit = {}): Promise<WidgetPage> {
    const context = visit.sameVisitorAs?.page.context() ?? (await this.context(visit.context));
    const page = await context.newPage();
    const widget = new WidgetPage(page, this.service.url);
    await visit.prepare?.(page);
    const embed = visit.isEmbedded === false ? "" : this.embed(visit.attributes, visit.publicKey);
    const html = `<!doctype html><html ${visit.htmlAttributes ?? 'lang="en"'}><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>A customer's page</title>
<link rel="icon" href="data:,">${visit.head ?? ""}${embed}</head>
<body><main>${visit.body ?? '<h1>A shop</h1><p>With <a href="#terms">terms</a>.</p>'}</main></body></html>`;
    await page.goto(this.site.page(`/page-${++this.#pages}`, visit.html ?? html, visit.headers));
    return widget;
  }

  /** The same, and opens the panel with the mouse. */
  async visitAndOpen(visit: Visit = {}): Promise<WidgetPage> {
    const widget = await this.visit(visit);
    await widget.open();
    return widget;
  }
}

/** A suite in a real Chromium, of which only the pages are needed; left out, and loudly said so, where there is none. */
export const describeInBrowser = (name: string, suite: (stage: Stage) => void) => describeIn("pages", name, suite);

/** The same in the whole of it, for what has to do with tabs, memory and sites as visitors have them, and for how it is drawn. */
export const describeInWholeBrowser = (name: string, suite: (stage: Stage) => void) => describeIn("whole", name, suite);

function describeIn(kind: BrowserKind, name: string, suite: (stage: Stage) => void): void {
  describeWith("chromium", name, () => {
    const stage = new Stage();
    beforeAll(() => stage.open(kind));
    afterEach(() => stage.clear());
    afterAll(() => stage.close());
    suite(stage);
  });
}

/** Waits until a value read from the page is as expected. */
export function eventually<Value>(read: () => Value | Promise<Value>, timeoutMs = 10_000) {
  return expect.poll(read, { timeout: timeoutMs, interval: 50 });
}
