import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A customer's site. */
export interface Site {
  readonly origin: string;
  /** Adds a page and returns its URL. */
  addPage(path: string, html: string, headers?: Readonly<Record<string, string>>): string;
  close(): Promise<void>;
}

/** Starts a site on `http://localhost:<port>`. The service is at 127.0.0.1, so the site and the service are cross-site. */
export async function startSite(): Promise<Site> {
  const pages = new Map<string, { html: string; headers: Readonly<Record<string, string>> }>();
  const server = createServer((request, response) => {
    const page = pages.get((request.url ?? "").split("?")[0] ?? "");
    const headers = { "Content-Type": "text/html; charset=utf-8", ...page?.headers };
    response.writeHead(page ? 200 : 404, headers).end(page?.html);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    addPage(path, html, headers = {}) {
      pages.set(path, { html, headers });
      return origin + path;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
