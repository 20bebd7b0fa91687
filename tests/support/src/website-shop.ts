import { gzipSync } from "node:zlib";
import { type Respond, redirectTo, sitemap, type Website, webPage, withEtag } from "./website.ts";

const PRODUCTS = 289;
const PRODUCTS_IN_SITEMAP = 199;
const PRODUCTS_PER_LIST = 10;
const SLOW_MS = 3_000;

/** The pages with a text of their own outside of the trap: the home page, the slow page, 289 products, and 9 lists of products. */
export const SHOP_PAGES = 300;
/** The texts that a crawl of at most 15 links' depth may find in the trap. */
export const MAX_TRAP_PAGES = 20;

/** Returns whether a path is part of the trap. */
export function isTrap(path: string): boolean {
  return path.startsWith("/calendar/") || path.startsWith("/loop/");
}

/**
 * Fills a website with 300 pages, and with redirects, duplicates, canonical links, a trap of endless links, a slow page and a forbidden one. Its
 * sitemap is an index of a compressed one, which lists two thirds of the products. `robots` has more lines of robots.txt.
 */
export function fillShop(site: Website, robots = ""): { setPrice(product: number, price: string): void } {
  const { origin, paths } = site;
  const setPrice = (product: number, price: string) => addProduct(site, product, price);
  const products = Array.from({ length: PRODUCTS }, (_, index) => index + 1);
  for (const product of products) setPrice(product, `${product}.50 EUR`);
  addLists(site, products.slice(PRODUCTS_IN_SITEMAP));
  const links = [
    ...["/list?page=1", "/calendar/1", "/loop/", "/slow", "/private/secret"],
    ...["/picture.jpg", "#top", "mailto:shop@example.com"],
    ...products.slice(0, 20).flatMap((each) => [`/old/${each}`, `/print/${each}`, `/product/${each}?ref=mail`]),
  ];
  const anchors = links.map((each) => `<a href="${each}">${each}</a>`).join(" ");
  paths.set("/", webPage("Shop", `<p>Welcome to the shop.</p>${anchors}`));
  paths.set("/slow", sendLate(webPage("Slow page", "<p>This page takes its time.</p>")));
  paths.set("/private/secret", webPage("Secret", "<p>The secret is 42.</p>"));
  site.fallback = trapPage;
  const sitemaps = `Sitemap: ${origin}/sitemaps.xml`;
  paths.set("/robots.txt", sendText(`User-agent: *\nDisallow: /private/\n${robots}\n${sitemaps}\n`));
  paths.set("/sitemaps.xml", sendText(sitemap([`${origin}/sitemap-products.xml.gz`], "sitemapindex", "sitemap")));
  const inSitemap = products.slice(0, PRODUCTS_IN_SITEMAP).map((each) => `${origin}/product/${each}`);
  paths.set("/sitemap-products.xml.gz", (_, response) => {
    response.writeHead(200, { "content-type": "application/gzip" }).end(gzipSync(sitemap(inSitemap)));
  });
  return { setPrice };
}

function addProduct({ paths }: Website, product: number, price: string): void {
  const path = `/product/${product}`;
  const rows = `<tr><th>Size</th><th>Weight</th></tr><tr><td>small</td><td>${product} g</td></tr>`;
  const text = `<p>Product ${product} costs ${price}.</p><table>${rows}</table>`;
  const html = webPage(`Product ${product}`, text, `<link rel="canonical" href="${path}">`);
  // Every second page has an ETag. The others have no validator.
  paths.set(path, product % 2 === 0 ? withEtag(html, `"${product}-${price}"`) : html);
  // A duplicate with a canonical link, and for some products one that has only the same text, and one that redirects.
  paths.set(`${path}?ref=mail`, html);
  if (product > 20) return;
  paths.set(`/print/${product}`, html.replace(/<link[^>]*>/, ""));
  paths.set(`/old/${product}`, redirectTo(path));
}

/** Adds lists of the products that the sitemap does not name. Each list links to the next one. */
function addLists({ paths }: Website, products: readonly number[]): void {
  for (let list = 1; (list - 1) * PRODUCTS_PER_LIST < products.length; list++) {
    const shown = products.slice((list - 1) * PRODUCTS_PER_LIST, list * PRODUCTS_PER_LIST);
    const links = shown.map(
      (each) => `<li><a href="/product/${each}?ref=mail&utm_source=list">Product ${each}</a></li>`,
    );
    const next = `<a href="/list?page=${list + 1}">More</a>`;
    paths.set(`/list?page=${list}`, webPage(`List ${list}`, `<ul>${links.join("")}</ul>${next}`));
  }
}

/** Each page of the trap has another text and leads to the next one. */
function trapPage(path: string): string | undefined {
  const day = Number(/^\/calendar\/(\d+)$/.exec(path)?.[1]);
  if (day > 0) return webPage(`Day ${day}`, `<p>Nothing on day ${day}.</p><a href="/calendar/${day + 1}">Next</a>`);
  if (!/^(?:\/loop)+\/$/.test(path)) return undefined;
  return webPage(`Loop ${path.length}`, `<p>${path}</p><a href="loop/">Deeper</a>`);
}

function sendText(text: string): Respond {
  return (_, response) => void response.writeHead(200, { "content-type": "text/plain" }).end(text);
}

function sendLate(html: string): Respond {
  return (_, response) =>
    void setTimeout(() => response.writeHead(200, { "content-type": "text/html" }).end(html), SLOW_MS);
}
