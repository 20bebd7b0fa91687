import { Counter, type Logger, type Registry, registerShardGauges, type Shard, startAtZero } from "@parley/service-kit";
import { RUN_RESULTS } from "./site.ts";
import { measureSites } from "./sites.store.ts";

const CACHE_MS = 15_000;

export function createSiteRunCounter(registry: Registry): Counter<"result"> {
  const counter = new Counter({
    name: "parley_site_runs_total",
    help: "Finished crawls of websites, by result: complete, incomplete (some pages failed) or failed (robots.txt or every page failed).",
    labelNames: ["result"],
    registers: [registry],
  });
  startAtZero(counter, { result: RUN_RESULTS });
  return counter;
}

export function registerSiteGauges(registry: Registry, shards: readonly Shard[], log: Logger): void {
  registerShardGauges(
    registry,
    {
      oldestSeconds: {
        name: "parley_site_waiting_oldest_seconds",
        help: "How long the website that has waited longest for a crawler is due. It grows if the crawlers cannot keep up.",
      },
      crawled: {
        name: "parley_sites_crawled",
        help: "Websites whose last crawl ended within six hours.",
      },
      failed: {
        name: "parley_sites_failed",
        help: "Websites whose last crawl ended within six hours and failed as a whole. One website counts once, however often it fails.",
      },
    },
    shards,
    ({ database }) => measureSites(database),
    log,
    CACHE_MS,
  );
}
