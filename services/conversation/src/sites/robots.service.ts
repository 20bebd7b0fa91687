import { pause } from "@parley/service-kit";
import { fetchFile, type ReadLinks, readSitemap } from "../documents/index.ts";
import { type CrawlDeps, isFetchFailure, isUnexpected, SiteUnavailable } from "./crawl.ts";
import { isSameSite } from "./page-url.ts";
import { decodeRobotsTxt, parseRobotsTxt, type Robots } from "./robots.ts";
import { type ClaimedSite, URLS_PER_PAGE } from "./site.ts";

const MAX_SITEMAPS = 50;
/** An index may list sitemaps, and these may be indexes. */
const MAX_INDEX_DEPTH = 2;
/** With a crawl delay, many sitemaps would keep other sites waiting. */
const MAX_SITEMAPS_MS = 5 * 60_000;

type Fetcher = Pick<CrawlDeps, "fetcher" | "queue" | "log">;

/**
 * Reads the rules for crawling a site. As RFC 9309 demands, a missing robots.txt permits everything, and one that the server fails to send forbids
 * everything.
 */
export async function readRobots(
  { fetcher }: Fetcher,
  { workspaceId, url }: ClaimedSite,
  signal: AbortSignal,
): Promise<Robots> {
  const robotsUrl = new URL("/robots.txt", url).href;
  try {
    return await fetcher.withFetched(
      { workspaceId, signal },
      (options) => fetchFile(robotsUrl, options),
      async ({ status, body }) => {
        if (status === 429 || status >= 500)
          throw new SiteUnavailable("robots_unavailable", `robots.txt cannot be fetched: it returned status ${status}`);
        const robots = await parseRobotsTxt(status === 200 ? decodeRobotsTxt(body) : "", signal);
        if (robots === undefined)
          throw new SiteUnavailable("robots_unavailable", "robots.txt has too many rules with wildcards");
        return robots;
      },
    );
  } catch (error) {
    if (isFetchFailure(error)) throw new SiteUnavailable(error.code, `robots.txt: ${error.message}`);
    throw error;
  }
}

/** Lists the pages in a site's sitemaps, with the crawl delay before each request. Leaves out a sitemap that cannot be fetched or read, because links may lead to its pages. */
export async function listSitemapPages(
  deps: Fetcher,
  site: ClaimedSite,
  { sitemaps, crawlDelayMs }: Robots,
  signal: AbortSignal,
): Promise<string[]> {
  const pages = new Set<string>();
  const endsAtMs = performance.now() + MAX_SITEMAPS_MS;
  const first = sitemaps.length > 0 ? sitemaps : [new URL("/sitemap.xml", site.url).href];
  const known = new Set(first);
  const waiting = first.map((url) => ({ url, depth: 0 }));
  for (let read = 0; read < MAX_SITEMAPS && pages.size < site.maxPages * URLS_PER_PAGE; read++) {
    const next = waiting.shift();
    if (next === undefined || performance.now() > endsAtMs) break;
    if (crawlDelayMs > 0) await pause(crawlDelayMs, signal);
    const { urls, isIndex } = await readSitemapUrl(deps, site, next.url, signal);
    for (const url of urls) {
      if (!isIndex) {
        if (isSameSite(url, site.url)) pages.add(url);
      } else if (waiting.length < MAX_SITEMAPS && next.depth < MAX_INDEX_DEPTH && !known.has(url)) {
        known.add(url);
        waiting.push({ url, depth: next.depth + 1 });
      }
    }
  }
  return [...pages];
}

async function readSitemapUrl(
  { fetcher, queue, log }: Fetcher,
  { workspaceId, id }: ClaimedSite,
  url: string,
  signal: AbortSignal,
): Promise<ReadLinks> {
  const nothing = { urls: [], isIndex: false };
  try {
    return await fetcher.withFetched(
      { workspaceId, signal },
      (options) => fetchFile(url, options),
      async ({ status, body }) => {
        if (status !== 200) return nothing;
        const document = { workspaceId, bytes: body.length, signal };
        return queue.run(document, () => readSitemap(body, { signal, workspaceId }));
      },
    );
  } catch (error) {
    if (isFetchFailure(error)) return nothing;
    if (!isUnexpected(error, signal)) throw error;
    log.error({ workspace_id: workspaceId, site_id: id, error }, "sitemap check failed");
    return nothing;
  }
}
