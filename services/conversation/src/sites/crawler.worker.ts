import { pause } from "@parley/service-kit";
import { LRUCache } from "lru-cache";
import type { CrawlDeps } from "./crawl.ts";
import { workOnSite } from "./crawl-site.service.ts";
import type { Robots } from "./robots.ts";
import { claimSite, startDueRuns } from "./site-leases.store.ts";

/** How many sites a replica crawls at once, on each shard. */
const MAX_ACTIVE_SITES = 4;
const CLAIM_INTERVAL_MS = 1_000;
const MAX_REMEMBERED_ROBOTS = 100;
/** The parsed rules take about ten times the memory of their text. */
const MAX_REMEMBERED_CHARACTERS = 2_000_000;
/** A longer run reads robots.txt again. */
const ROBOTS_TTL_MS = 60 * 60_000;

/** Crawls the sites of all bots of a shard. Several processes may run concurrently: each leases the sites that it crawls. */
export class SiteCrawler {
  readonly #deps: CrawlDeps;

  constructor(deps: Omit<CrawlDeps, "robots">) {
    const robots = new LRUCache<string, Robots>({
      max: MAX_REMEMBERED_ROBOTS,
      ttl: ROBOTS_TTL_MS,
      maxSize: MAX_REMEMBERED_CHARACTERS,
      sizeCalculation: ({ characters }) => characters + 1,
    });
    this.#deps = { ...deps, robots };
  }

  /** Works until no site can be claimed, or the signal aborts. Throws the first failure after the other sites' turns have ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { database } = this.#deps;
    const active = new Set<Promise<void>>();
    const failures: unknown[] = [];
    await startDueRuns(database);
    while (!signal.aborted && failures.length === 0) {
      const site = active.size < MAX_ACTIVE_SITES ? await claimSite(database) : undefined;
      if (site !== undefined) {
        const work: Promise<void> = workOnSite(this.#deps, site, signal)
          .catch((error: unknown) => void failures.push(error))
          .finally(() => active.delete(work));
        active.add(work);
        continue;
      }
      if (active.size === 0) break;
      await Promise.race([...active, pause(CLAIM_INTERVAL_MS, signal)]);
      await startDueRuns(database);
    }
    await Promise.all(active);
    if (failures.length > 0) throw failures[0];
  }
}
