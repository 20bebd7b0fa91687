import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const HOST = "127.0.0.2";
/** The network of the websites, which a test must permit with EGRESS_ALLOW. */
export const WEBSITE_NETWORK = `${HOST}/32`;

export type Respond = (request: IncomingMessage, response: ServerResponse) => void;

export type Website = {
  origin: string;
  /** The path and query of each request. */
  requests: string[];
  /** When each of them arrived, as performance.now(). */
  arrivedAtMs: number[];
  /** The greatest number of requests at once. */
  maxConcurrent: number;
  /** The HTML, a function for another response, or a status for each path and query. Other paths return 404. */
  paths: Map<string, string | Respond | number>;
  /** Returns the HTML of other paths than those of `paths`; undefined for 404. */
  fallback: (path: string) => string | undefined;
  close(): Promise<void>;
};

/** Starts a website on a free port of WEBSITE_NETWORK. */
export async function startWebsite(): Promise<Website> {
  const paths: Website["paths"] = new Map();
  let active = 0;
  const server = createServer((request, response) => {
    const path = request.url ?? "/";
    site.requests.push(path);
    site.arrivedAtMs.push(performance.now());
    active++;
    response.once("close", () => active--);
    site.maxConcurrent = Math.max(site.maxConcurrent, active);
    const content = paths.get(path) ?? site.fallback(path) ?? 404;
    if (typeof content === "function") content(request, response);
    else if (typeof content === "number") response.writeHead(content).end();
    else response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(content);
  }).listen(0, HOST);
  await once(server, "listening");
  const site: Website = {
    origin: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    requests: [],
    arrivedAtMs: [],
    maxConcurrent: 0,
    paths,
    fallback: () => undefined,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return site;
}

/** Returns a page with a menu, a main part and a footer. */
export function webPage(title: string, main: string, head = ""): string {
  return `<!doctype html><html><head><title>${title}</title>${head}</head><body>
    <header><a href="/">Home</a> Menu of the shop</header><main><h1>${title}</h1>${main}</main>
    <footer>Imprint of the shop</footer><script>window.token = "${Math.random()}"</script></body></html>`;
}

/** Sends a redirect, by default a permanent one. */
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

/** Returns a sitemap of pages; an index of sitemaps with the other names of elements. */
export function sitemap(urls: readonly string[], root = "urlset", entry = "url"): string {
  const entries = urls.map((url) => `<${entry}><loc>${url}</loc></${entry}>`).join("");
  return `<?xml version="1.0" encoding="UTF-8"?><${root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries}</${root}>`;
}
