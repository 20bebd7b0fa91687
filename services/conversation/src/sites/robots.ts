import { createRequire } from "node:module";
import type parseRobots from "robots-parser";
import { USER_AGENT } from "../documents/index.ts";

// The package is CommonJS, and its types declare an ES module.
const robotsParser = createRequire(import.meta.url)("robots-parser") as typeof parseRobots.default;

/** A longer delay would let a crawl take days. */
const MAX_CRAWL_DELAY_MS = 60_000;

/** The rules of a site's robots.txt for Parley. */
export type Robots = {
  mayFetch(url: string): boolean;
  /** The pause between two requests; 0 if robots.txt asks for none. */
  crawlDelayMs: number;
  sitemaps: string[];
};

/** `url` is that of the robots.txt. An empty text permits everything. */
export function parseRobotsTxt(url: string, text: string): Robots {
  const robots = robotsParser(url, text);
  const { origin } = new URL(url);
  const delaySeconds = Number(robots.getCrawlDelay(USER_AGENT) ?? 0);
  return {
    // The rules are valid for all URLs of the site, also with another protocol or with www.
    mayFetch: (page) => {
      const { pathname, search } = new URL(page);
      return robots.isAllowed(`${origin}${pathname}${search}`, USER_AGENT) !== false;
    },
    crawlDelayMs: delaySeconds > 0 ? Math.min(delaySeconds * 1_000, MAX_CRAWL_DELAY_MS) : 0,
    sitemaps: robots.getSitemaps().filter((each) => URL.canParse(each)),
  };
}
