import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

/** The network of the websites, which a test must permit with EGRESS_ALLOW. */
export const WEBSITE_HOST = "127.0.0.2";

export type Respond = (request: IncomingMessage, response: ServerResponse) => void;

export type Website = {
  origin: string;
  /** The path and query of each request. */
  requests: string[];
  /** The greatest number of requests at once. */
  maxConcurrent: number;
  /** The HTML, a function for another response, or a status for each path and query. Other paths return 404. */
  paths: Map<string, string | Respond | number>;
  close(): Promise<void>;
};

export async function startWebsite(): Promise<Website> {
  const paths: Website["paths"] = new Map();
  let active = 0;
  const server = createServer((request, response) => {
    const path = request.url ?? "/";
    site.requests.push(path);
    active++;
    response.once("close", () => active--);
    site.maxConcurrent = Math.max(site.maxConcurrent, active);
    const content = paths.get(path) ?? 404;
    if (typeof content === "function") content(request, response);
    else if (typeof content === "number") response.writeHead(content).end();
    else response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(content);
  }).listen(0, WEBSITE_HOST);
  await once(server, "listening");
  const site: Website = {
    origin: `http://${WEBSITE_HOST}:${(server.address() as AddressInfo).port}`,
    requests: [],
    maxConcurrent: 0,
    paths,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return site;
}

/** Returns a page with a menu, a main part and a footer. */
export function page(title: string, main: string, head = ""): string {
  return `<!doctype html><html><head><title>${title}</title>${head}</head><body>
    <header><a href="/">Home</a> Menu of the shop</header><main><h1>${title}</h1>${main}</main>
    <footer>Imprint of the shop</footer><script>window.token = "${Math.random()}"</script></body></html>`;
}

export function redirectTo(location: string, status = 301): Respond {
  return (_, response) => void response.writeHead(status, { location }).end();
}

/** Sends HTML with an ETag, or 304 if the client has it already. */
export function withEtag(html: string, etag: string): Respond {
  return (request, response) => {
    if (request.headers["if-none-match"] === etag) return void response.writeHead(304).end();
    response.writeHead(200, { "content-type": "text/html", etag }).end(html);
  };
}

export function sitemap(urls: readonly string[], root = "urlset", entry = "url"): string {
  const entries = urls.map((url) => `<${entry}><loc>${url}</loc></${entry}>`).join("");
  return `<?xml version="1.0" encoding="UTF-8"?><${root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries}</${root}>`;
}

const PRODUCTS = 290;
const PRODUCTS_IN_SITEMAP = 200;
const PRODUCTS_PER_LIST = 10;

/** The documents of createShop's site without those of its trap: the home page, 290 products, and 9 lists of products. */
export const SHOP_PAGES = 300;

/** Fills a website with 300 pages, and with redirects, duplicates, canonical links, a trap of endless links, a slow and a forbidden page. */
export function createShop(site: Website, slowMs = 3_000): { setPrice(product: number, price: string): void } {
  const { origin, paths } = site;
  const setPrice = (product: number, price: string) => {
    const path = `/product/${product}`;
    const html = page(
      `Product ${product}`,
      `<p>Product ${product} costs ${price}.</p><table><tr><th>Size</th><th>Weight</th></tr><tr><td>small</td><td>${product} g</td></tr></table>`,
      `<link rel="canonical" href="${path}">`,
    );
    // Every second page has an ETag. The others differ each time they are sent, but their text does not.
    paths.set(path, product % 2 === 0 ? withEtag(html, `"${product}-${price}"`) : html);
    // A duplicate with a canonical link, and one that only has the same text.
    paths.set(`${path}?ref=mail`, html);
    if (product <= 20) paths.set(`/print/${product}`, html.replace(/<link[^>]*>/, ""));
    if (product <= 20) paths.set(`/old/${product}`, redirectTo(path));
  };
  for (let product = 1; product <= PRODUCTS; product++) setPrice(product, `${product}.50 EUR`);
  const products = Array.from({ length: PRODUCTS }, (_, index) => index + 1);
  const listed = products.slice(PRODUCTS_IN_SITEMAP);
  const lists = listed.length / PRODUCTS_PER_LIST;
  for (let list = 1; list <= lists; list++) {
    const shown = listed.slice((list - 1) * PRODUCTS_PER_LIST, list * PRODUCTS_PER_LIST);
    const links = shown.map(
      (each) => `<li><a href="/product/${each}?ref=mail&utm_source=list">Product ${each}</a></li>`,
    );
    paths.set(
      `/list?page=${list}`,
      page(`List ${list}`, `<ul>${links.join("")}</ul><a href="/list?page=${list + 1}">More</a>`),
    );
  }
  const links = [
    ...[
      "/list?page=1",
      "/calendar/1",
      "/loop/",
      "/slow",
      "/private/secret",
      "/picture.jpg",
      "#top",
      "mailto:shop@example.com",
    ],
    ...products.slice(0, 20).flatMap((each) => [`/old/${each}`, `/print/${each}`, `/product/${each}?ref=mail`]),
  ];
  const home = page(
    "Shop",
    `<p>Welcome to the shop.</p>${links.map((each) => `<a href="${each}">${each}</a>`).join(" ")}`,
  );
  paths.set("/", home);
  // Each page of the trap has another text and leads to the next one.
  for (let day = 1; day <= 2_000; day++)
    paths.set(
      `/calendar/${day}`,
      page(`Day ${day}`, `<p>Nothing on day ${day}.</p><a href="/calendar/${day + 1}">Next</a>`),
    );
  for (let path = "/loop/", depth = 1; depth < 50; depth++, path += "loop/")
    paths.set(path, page(`Loop ${depth}`, `<p>Loop ${depth}.</p><a href="loop/">Deeper</a>`));
  paths.set("/slow", (_, response) => void setTimeout(() => response.writeHead(404).end(), slowMs));
  paths.set("/private/secret", page("Secret", "<p>The secret is 42.</p>"));
  paths.set("/robots.txt", (_, response) => {
    response.writeHead(200).end(`User-agent: *\nDisallow: /private/\nSitemap: ${origin}/sitemaps.xml\n`);
  });
  paths.set("/sitemaps.xml", sitemap([`${origin}/sitemap-products.xml.gz`], "sitemapindex", "sitemap"));
  const inSitemap = products.slice(0, PRODUCTS_IN_SITEMAP).map((each) => `${origin}/product/${each}`);
  paths.set("/sitemap-products.xml.gz", (_, response) => {
    response.writeHead(200, { "content-type": "application/gzip" }).end(gzipSync(sitemap(inSitemap)));
  });
  return { setPrice };
}
