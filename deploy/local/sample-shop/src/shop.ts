import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type Embed, isPagePath, renderPage } from "./page.ts";
import { readSettings } from "./settings.ts";

const PUBLIC_DIR = join(import.meta.dirname, "../public");
const STATIC_FILE = /^\/(?:shop\.css|goods\/[a-z]+\.svg)$/;

export interface SampleShopOptions extends Embed {
  /** 0 for any free port. */
  readonly port: number;
  readonly host: string;
}

export interface SampleShop {
  readonly url: string;
  close(): Promise<void>;
}

/** Returns the strictest content security policy with which the widget works. */
function buildContentSecurityPolicy(edgeUrl: string): string {
  return [
    "default-src 'none'",
    `script-src ${edgeUrl}`,
    "style-src 'self'",
    // The bot's logo may be on any host.
    "img-src 'self' data: https: http:",
    `connect-src ${edgeUrl}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

/** Starts a small shop that embeds the widget. Rejects when the port is taken. */
export async function startSampleShop({ port, host, edgeUrl, publicKey }: SampleShopOptions): Promise<SampleShop> {
  const headers = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": buildContentSecurityPolicy(edgeUrl),
  };
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? "/", "http://shop.invalid");
    const send = (status: number, type: string, body: string | Buffer) =>
      response.writeHead(status, { ...headers, "Content-Type": type }).end(request.method === "HEAD" ? "" : body);
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("Allow", "GET, HEAD");
      send(405, "text/plain", "Method not allowed\n");
    } else if (url === null) {
      send(404, "text/plain", "Not found\n");
    } else if (isPagePath(url.pathname)) {
      send(
        200,
        "text/html; charset=utf-8",
        renderPage(url.pathname, readSettings(url.searchParams), { edgeUrl, publicKey }),
      );
    } else if (STATIC_FILE.test(url.pathname)) {
      const type = url.pathname.endsWith(".css") ? "text/css; charset=utf-8" : "image/svg+xml";
      readFile(join(PUBLIC_DIR, url.pathname)).then(
        (bytes) => send(200, type, bytes),
        () => send(404, "text/plain", "Not found\n"),
      );
    } else {
      send(404, "text/plain", "Not found\n");
    }
  });
  server.listen(port, host);
  await once(server, "listening");
  return { url: `http://${host}:${(server.address() as AddressInfo).port}`, close: () => close(server) };
}

async function close(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
