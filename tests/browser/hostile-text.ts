import type { Frame, Page } from "playwright-core";
import { vi } from "vitest";

/** No page may load anything from this host. */
const FOREIGN_HOST = "foreign.example";

/** Texts that run a script or load something from FOREIGN_HOST if a page parses them as HTML, CSS, a URL or a template. */
export const HOSTILE_TEXTS = [
  `<script>alert(1)</script>`,
  `</script><script src=//${FOREIGN_HOST}/1.js></script>`,
  `</textarea></title></style><img src=x onerror=alert(2)>`,
  `"><img src=//${FOREIGN_HOST}/2.png onerror="alert(3)">`,
  `'-alert(4)-' onmouseover='alert(4)`,
  `<svg onload=alert(5)><image href="//${FOREIGN_HOST}/3.svg"/></svg>`,
  `<iframe srcdoc="<script>parent.alert(6)</script>"></iframe>`,
  `<object data="data:text/html,<script>parent.alert(7)</script>">`,
  `<a href="javascript:alert(8)">link</a>`,
  `<math><mtext><table><mglyph><style><img src=x onerror=alert(9)>`,
  `<button autofocus onfocus=alert(10)><details open ontoggle=alert(10)>`,
  `<link rel=stylesheet href=//${FOREIGN_HOST}/4.css><style>@import "//${FOREIGN_HOST}/5.css"</style>`,
  `<base href=//${FOREIGN_HOST}/><form action=//${FOREIGN_HOST}/><input type=image src=//${FOREIGN_HOST}/6.png>`,
  `<p style="background:url(//${FOREIGN_HOST}/7.png)">url(//${FOREIGN_HOST}/8.png)`,
  `{{constructor.constructor('alert(11)')()}} \${alert(11)} <%= alert(11) %>`,
  `\u2028alert(12)\u2029<!--\u202egnp.exe\u2066 %3Cscript%3E`,
] as const;

/** Links, images, HTML and entities in Markdown. A page may show a link to `https:`, but must not run a script or load anything. */
export const HOSTILE_MARKDOWN = [
  `[a](javascript:alert(21))`,
  `[b](JaVaScRiPt:alert(22)) [c](java\tscript:alert(22)) [d](\u0001javascript:alert(22))`,
  `[e](data:text/html;base64,PHNjcmlwdD5hbGVydCgyMyk8L3NjcmlwdD4=) [f](vbscript:alert(23))`,
  `![g](https://${FOREIGN_HOST}/11.png) ![h](javascript:alert(24)) [![i](//${FOREIGN_HOST}/12.png)](javascript:alert(24))`,
  `[j](https://${FOREIGN_HOST}/"onmouseover="alert(25)) https://${FOREIGN_HOST}/"onclick="alert(25)`,
  `<javascript:alert(26)> [k][1] [l](//${FOREIGN_HOST}/13)`,
  `[1]: javascript:alert(27)`,
  `&lt;script&gt;alert(31)&lt;/script&gt; &#60;img src=x onerror=alert(32)&#62;`,
  "```html\n<img src=x onerror=alert(28)>\n```",
  `[m](https://javascript:alert(29)@${FOREIGN_HOST}/) [n](https://${FOREIGN_HOST}/' style='background:url(//${FOREIGN_HOST}/14.png))`,
] as const;

/** One hostile text for fields of at most 200 characters and for HTTP headers. */
export const HOSTILE_NAME = `O'Neil"></title></script><img src=//${FOREIGN_HOST}/20.png onerror=alert(30)>{{7*7}}`;

/** Values of a style property that load something, run a script or end their declaration. */
export const HOSTILE_CSS = [
  `url(//${FOREIGN_HOST}/30.png)`,
  `URL("//${FOREIGN_HOST}/31.png")`,
  `u\\72l(//${FOREIGN_HOST}/32.png)`,
  `url/**/(//${FOREIGN_HOST}/33.png)`,
  `image-set("//${FOREIGN_HOST}/34.png" 1x)`,
  `-webkit-image-set(url(//${FOREIGN_HOST}/35.png) 1x)`,
  `cross-fade(url(//${FOREIGN_HOST}/36.png), red)`,
  `src("//${FOREIGN_HOST}/37.png")`,
  `red; background: url(//${FOREIGN_HOST}/38.png)`,
  `red} * { background: url(//${FOREIGN_HOST}/39.png) }`,
  `</style><script>alert(40)</script>`,
  `"</style><script>alert(41)</script>"`,
  `expression(alert(42))`,
] as const;

const WATCHES = new WeakMap<Page, HostileTextWatch>();

/** Records the effects of hostile text in a page: dialogs, requests to other machines, errors and violated content security policies. */
export class HostileTextWatch {
  readonly #effects: string[] = [];
  readonly #page: Page;

  private constructor(page: Page) {
    this.#page = page;
  }

  static async start(page: Page): Promise<HostileTextWatch> {
    const watch = new HostileTextWatch(page);
    WATCHES.set(page, watch);
    const effects = watch.#effects;
    page.on("dialog", (dialog) => {
      effects.push(`dialog: ${dialog.message()}`);
      // The test may close the page meanwhile.
      dialog.dismiss().catch(() => undefined);
    });
    page.on("request", (request) => {
      const { protocol, hostname } = new URL(request.url());
      if (!["data:", "blob:"].includes(protocol) && !["localhost", "127.0.0.1"].includes(hostname)) {
        effects.push(`request: ${request.url()}`);
      }
    });
    page.on("pageerror", ({ message }) => effects.push(`error: ${message}`));
    await page.exposeFunction("reportHostileEffect", (effect: string) => void effects.push(effect));
    await page.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
        const { reportHostileEffect } = window as unknown as { reportHostileEffect(effect: string): void };
        reportHostileEffect(`violation: ${violatedDirective} ${blockedURI}`);
      });
    });
    return watch;
  }

  static of(page: Page): HostileTextWatch {
    const watch = WATCHES.get(page);
    if (!watch) throw new Error("the page is not watched");
    return watch;
  }

  /** Returns the effects so far, and the hostile elements and attributes in the page. */
  async findEffects(): Promise<string[]> {
    // A search rejects if a frame navigates meanwhile, as the console's preview frame does.
    const search = () => Promise.all(this.#page.frames().map(findHostileMarkup));
    const found = await vi.waitFor(search, { timeout: 10_000 });
    return [...this.#effects, ...found.flat()];
  }
}

/** Returns a frame's elements and attributes that exist only if the page parsed a hostile text as HTML. */
function findHostileMarkup(frame: Frame): Promise<string[]> {
  return frame.evaluate((foreignHost) => {
    const roots: (Document | ShadowRoot)[] = [document];
    const found: string[] = [];
    for (const root of roots) {
      for (const element of root.querySelectorAll("*")) {
        if (element.shadowRoot) roots.push(element.shadowRoot);
        const { tagName } = element;
        if (/^(?:object|embed|base|math|mglyph|image)$/i.test(tagName)) found.push(`element: ${tagName}`);
        for (const { name, value } of element.attributes) {
          // A data: URL with CSV is allowed: the console links to its usage report in this form, and no browser runs CSV.
          const runsScript =
            /^on/.test(name) ||
            name === "srcdoc" ||
            /^[\0-\x20]*(?:javascript|vbscript|data:text(?!\/csv;charset=utf-8,))/i.test(value);
          // `href` is not in this list: an `<a>` may lead to another site, because it loads nothing until it is clicked. If a `<link>` loads
          // something, HostileTextWatch records the request.
          const isLoadedUrl =
            /^(?:src|action|formaction|background|poster|data)$/.test(name) && URL.canParse(value, location.href);
          const loadsForeignUrl = isLoadedUrl && new URL(value, location.href).hostname === foreignHost;
          const isPlainText = /^(?:value|title|placeholder|aria-label|content)$/.test(name);
          if ((runsScript && !isPlainText) || loadsForeignUrl) found.push(`attribute: ${tagName} ${name}=${value}`);
        }
      }
    }
    return found;
  }, FOREIGN_HOST);
}

/** Returns all texts of a page, including hidden ones and those in fields, shadow roots and frames. */
export async function readTexts(page: Page): Promise<string> {
  const texts = await Promise.all(
    page.frames().map((frame) =>
      frame.evaluate(() => {
        const roots: (Document | ShadowRoot)[] = [document];
        const parts: (string | null)[] = [document.body.textContent];
        for (const root of roots) {
          for (const element of root.querySelectorAll("*")) {
            if (element.shadowRoot) {
              roots.push(element.shadowRoot);
              parts.push(element.shadowRoot.textContent);
            }
            if (/^(?:INPUT|TEXTAREA|SELECT)$/.test(element.tagName)) parts.push((element as HTMLInputElement).value);
          }
        }
        return parts.join("\n");
      }),
    ),
  );
  return texts.join("\n");
}
