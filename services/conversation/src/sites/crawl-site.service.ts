import { type Database, pause, ServiceError } from "@parley/service-kit";
import { CheckPage } from "./check-page.service.ts";
import { type CrawlDeps, LeaseLost, SitePaused, SiteUnavailable } from "./crawl.ts";
import { isCrawlable, isSameSite, normalizeUrl } from "./page-url.ts";
import {
  addPages,
  deleteSite,
  forgetRemoved,
  listWaiting,
  removeOneDocument,
  type WaitingPage,
} from "./pages.store.ts";
import { listSitemapPages, readRobots } from "./robots.service.ts";
import { filterUrls, type Robots } from "./robots.ts";
import type { ClaimedSite } from "./site.ts";
import { finishRun, LEASE_SECONDS, releaseLease, renewLease, storeSeeded, withLease } from "./site-leases.store.ts";

/** A process works this long on a site before another site may have its place. */
const SLICE_MS = 30_000;
/** Fetches of one site at once. */
const MAX_FETCHES = 2;
const BATCH_PAGES = 20;
/** The pause of a site after the service had no room for its documents. */
const BUSY_PAUSE_SECONDS = 5;

/** Crawls or removes a leased site until its run is finished, or for 30 s. The next process that claims the site continues. */
export async function workOnSite(deps: CrawlDeps, site: ClaimedSite, signal: AbortSignal): Promise<void> {
  const lost = new AbortController();
  const ended = AbortSignal.any([signal, lost.signal]);
  const renewal = setInterval(() => {
    // Any other failure shows in the next statement.
    renewLease(deps.database, site).catch((error) => error instanceof LeaseLost && lost.abort(error));
  }, LEASE_SECONDS * 300);
  let pauseSeconds = 0;
  try {
    if (site.state === "removing") await removeSite(deps.database, site, ended);
    else await crawl(deps, site, ended);
  } catch (error) {
    const isBusy = error instanceof ServiceError && error.kind === "resource_exhausted";
    pauseSeconds = error instanceof SitePaused ? error.seconds : BUSY_PAUSE_SECONDS;
    const isExpected = isBusy || error instanceof SitePaused || error instanceof LeaseLost || ended.aborted;
    if (!isExpected) throw error;
  } finally {
    clearInterval(renewal);
    // If this process was told to stop, another one may continue immediately. If the release fails, the lease expires.
    await releaseLease(deps.database, site, signal.aborted ? 0 : pauseSeconds).catch(() => undefined);
  }
}

async function removeSite(database: Database, site: ClaimedSite, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await withLease(database, site, (connection) => removeOneDocument(connection, site))));
  if (!signal.aborted) await withLease(database, site, (connection) => deleteSite(connection, site));
}

async function crawl(deps: CrawlDeps, site: ClaimedSite, signal: AbortSignal): Promise<void> {
  const { database } = deps;
  const endsAtMs = performance.now() + SLICE_MS;
  const robots = await openSite(deps, site, signal).catch((error: unknown) => {
    if (error instanceof SiteUnavailable) return error;
    throw error;
  });
  if (robots instanceof SiteUnavailable)
    return deps.countRun(await finishRun(database, site, { code: robots.code, reason: robots.message }));
  const check = new CheckPage(deps, { site, robots, signal });
  while (performance.now() < endsAtMs && !signal.aborted) {
    const pages = await listWaiting(database, site, BATCH_PAGES);
    if (pages.length === 0) return deps.countRun(await finishRun(database, site));
    await checkPages(pages, { check, crawlDelayMs: robots.crawlDelayMs, endsAtMs, signal });
  }
}

type CheckPagesOptions = { check: CheckPage; crawlDelayMs: number; endsAtMs: number; signal: AbortSignal };

/** Checks pages, two at once or one after the other with the site's crawl delay. The first failure of the service ends the others. */
async function checkPages(
  pages: readonly WaitingPage[],
  { check, crawlDelayMs, endsAtMs, signal }: CheckPagesOptions,
): Promise<void> {
  const next = pages.values();
  let hasFailed = false;
  const checkNext = async () => {
    for (const page of next) {
      if (hasFailed || signal.aborted || performance.now() > endsAtMs) return;
      try {
        const hasFetched = await check.run(page);
        if (hasFetched && crawlDelayMs > 0) await pause(crawlDelayMs, signal);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const workers = Array.from({ length: crawlDelayMs > 0 ? 1 : MAX_FETCHES }, checkNext);
  const results = await Promise.allSettled(workers);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

/** Reads a site's robots.txt and, once in a run, its sitemaps. Throws SiteUnavailable if the site must not be crawled. */
async function openSite(deps: CrawlDeps, site: ClaimedSite, signal: AbortSignal): Promise<Robots> {
  const key = `${site.workspaceId} ${site.id} ${site.run}`;
  const known = deps.robots.get(key);
  const robots = known ?? (await readRobots(deps, site, signal));
  // Setting known rules again would restart the time after which they are read again.
  if (known === undefined) deps.robots.set(key, robots);
  if (!robots.mayFetch(site.url)) throw new SiteUnavailable("robots_refused", "robots.txt forbids the start page");
  if (!site.isSeeded) await addFirstPages(deps, site, robots, signal);
  const hasFetched = known === undefined || !site.isSeeded;
  if (hasFetched && robots.crawlDelayMs > 0) await pause(robots.crawlDelayMs, signal);
  return robots;
}

/** Adds the pages from which the crawl starts: the site's URL, and the pages in its sitemaps. */
async function addFirstPages(deps: CrawlDeps, site: ClaimedSite, robots: Robots, signal: AbortSignal): Promise<void> {
  const mayAdd = (url: string) => isSameSite(url, site.url) && isCrawlable(url, site) && robots.mayFetch(url);
  const listed = site.isSinglePage ? [] : await listSitemapPages(deps, site, robots, signal);
  const pages = await filterUrls(new Set(listed.map(normalizeUrl)), mayAdd, signal);
  await withLease(deps.database, site, async (connection) => {
    await forgetRemoved(connection, site);
    await addPages(connection, site, [normalizeUrl(site.url), ...pages], 0);
    await storeSeeded(connection, site);
  });
}
