import { once } from "node:events";
import { get as httpGet, type IncomingMessage } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readConfig } from "./config.ts";
import { GOODS } from "./goods.ts";
import { html } from "./html.ts";
import { OPTIONS, readSettings, settingsQuery, widgetAttributes } from "./settings.ts";
import { type SampleShop, startSampleShop } from "./shop.ts";

const EMBED = { edgeUrl: "http://127.0.0.1:9", publicKey: "svc_pk_sample" };
/** The theme and position "bot" are those of the bot's display settings. */
const DEFAULTS = { theme: "bot", position: "bot", lang: "en", dir: "ltr" };

describe("the shop", () => {
  let shop: SampleShop;
  const get = async (path: string, init?: RequestInit) => {
    const response = await fetch(shop.url + path, init);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

  beforeEach(async () => {
    shop = await startSampleShop({ ...EMBED, port: 0, host: "127.0.0.1" });
  });

  afterEach(async () => {
    await shop.close();
  });

  it.each(["/", "/delivery"])("embeds the widget on %s with one script element", async (path) => {
    const { status, text } = await get(path);
    expect(status).toBe(200);
    expect(text.match(/<script[^>]*>/g)).toEqual([
      '<script async src="http://127.0.0.1:9/widget.js" data-public-key="svc_pk_sample">',
    ]);
  });

  it("applies the settings to the page and the widget, and keeps them in links", async () => {
    const { text } = await get("/?theme=dark&position=bottom-left&lang=ar&dir=rtl");
    expect(text).toContain('data-theme="dark" data-position="bottom-left" data-lang="ar">');
    expect(text).toContain('<html lang="en" dir="rtl">');
    expect(text).toContain("<option selected>dark</option>");
    expect(text).toContain('href="/delivery?theme=dark&amp;position=bottom-left&amp;lang=ar&amp;dir=rtl"');
  });

  it("uses the defaults instead of invalid settings", async () => {
    expect((await get("/?theme=%22%3E%3Cscript%3E&dir=x")).text).toBe((await get("/")).text);
  });

  it("sends a content security policy that limits scripts and requests to the edge's origin", async () => {
    const policy = (await get("/")).headers.get("content-security-policy");
    expect(policy).toContain("script-src http://127.0.0.1:9;");
    expect(policy).toContain("connect-src http://127.0.0.1:9;");
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
  });

  it("serves the style sheet and an image of each product", async () => {
    for (const { slug } of GOODS) {
      expect((await get(`/goods/${slug}.svg`)).headers.get("content-type")).toBe("image/svg+xml");
    }
    expect((await get("/shop.css")).headers.get("content-type")).toBe("text/css; charset=utf-8");
  });

  it.each(["//", "//[", "/\\\\", "http://:80/"])(
    "returns 404 for the request target %s, which is not a URL, and keeps serving",
    async (path) => {
      const { hostname, port } = new URL(shop.url);
      const request = httpGet({ hostname, port, path, agent: false });
      const [response] = (await once(request, "response")) as [IncomingMessage];
      expect(response.statusCode).toBe(404);
      response.resume();
      expect((await get("/")).status).toBe(200);
    },
  );

  it.each(["/nowhere", "/goods/none.svg", "/goods/../../package.json", "/goods/..%2fshop.css", "/toString"])(
    "returns 404 for %s",
    async (path) => {
      expect((await get(path)).status).toBe(404);
    },
  );

  it("returns 405 for POST", async () => {
    const { status, headers } = await get("/", { method: "POST" });
    expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});

describe("settings", () => {
  it("default to each setting's first option, which needs no attribute and no query parameter", () => {
    expect(readSettings(new URLSearchParams())).toEqual(DEFAULTS);
    expect(widgetAttributes(DEFAULTS)).toEqual({});
    expect(settingsQuery(DEFAULTS)).toBe("");
  });

  it("round-trip through the query", () => {
    for (const [name, values] of Object.entries(OPTIONS)) {
      for (const value of values) {
        const settings = { ...DEFAULTS, [name]: value };
        expect(readSettings(new URLSearchParams(settingsQuery(settings)))).toEqual(settings);
      }
    }
  });
});

describe("html", () => {
  it("escapes every value that is not Html", () => {
    const built = [html`<b>${"<&>"}</b>`, html`<i></i>`];
    expect(html`<p title="${`"'`}">${built}</p>`.text).toBe('<p title="&quot;&#39;"><b>&lt;&amp;&gt;</b><i></i></p>');
  });
});

describe("the configuration", () => {
  it("reads the origin and key and uses a default port and host", () => {
    expect(readConfig({ EDGE_URL: "https://chat.example/path", PUBLIC_KEY: "svc_pk_1" })).toEqual({
      edgeUrl: "https://chat.example",
      publicKey: "svc_pk_1",
      port: 8089,
      host: "127.0.0.1",
    });
  });

  it.each([
    {},
    { EDGE_URL: "chat", PUBLIC_KEY: "k" },
    { EDGE_URL: "https://chat.example" },
    { EDGE_URL: "https://chat.example", PUBLIC_KEY: "k", PORT: "x" },
    { EDGE_URL: "https://chat.example", PUBLIC_KEY: "k", PORT: "-1" },
    { EDGE_URL: "https://chat.example", PUBLIC_KEY: "k", PORT: "65536" },
  ])("is refused for %j", (env) => {
    expect(() => readConfig(env)).toThrow("EDGE_URL");
  });
});
