import { createRequire } from "node:module";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type parseRobots from "robots-parser";
import { USER_AGENT } from "../documents/index.ts";

// The package is CommonJS, and its types declare an ES module.
const robotsParser = createRequire(import.meta.url)("robots-parser") as typeof parseRobots.default;

/** A longer delay would let a crawl take days. */
const MAX_CRAWL_DELAY_MS = 60_000;
/** The least that RFC 9309 demands. A longer text is cut, because a check would take longer. */
const MAX_BYTES = 500 * 1024;
/** The parser compares each character after a wildcard with each one of the URL. More than this would take longer than about 0.1 s. */
const MAX_WILDCARD_CHARACTERS = 20_000;
/** How long checks of URLs may keep visitors' turns waiting. */
const MAX_SLICE_MS = 10;
/** Only a very long robots.txt takes so long for the URLs of a page or a sitemap. */
const MAX_CHECKS_MS = 10_000;

/** The rules of a site's robots.txt for Parley. */
export type Robots = {
  mayFetch(url: string): boolean;
  /** The pause between two requests; 0 if robots.txt asks for none. */
  crawlDelayMs: number;
  sitemaps: string[];
  /** The length of the text, for bounding the memory of several. */
  characters: number;
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
    characters: text.length,
  };
}

/** Decodes a robots.txt. Returns the whole lines in the first 500 KiB. */
export function decodeRobotsTxt(body: Uint8Array): string {
  const text = new TextDecoder().decode(body.subarray(0, MAX_BYTES));
  return body.length <= MAX_BYTES ? text : text.slice(0, text.lastIndexOf("\n") + 1);
}

/** Whether the rules of a robots.txt with wildcards take too long to check. */
export function isTooComplex(text: string): boolean {
  let characters = 0;
  for (const line of text.split(/[\r\n]+/)) {
    const [rule = ""] = line.split("#", 1);
    if (rule.includes("*") && !/^\s*user-agent/i.test(rule)) characters += rule.length;
  }
  return characters > MAX_WILDCARD_CHARACTERS;
}

/**
 * Returns the URLs for which `isPermitted` is true. Lets other work run in between, because a long robots.txt takes milliseconds for each URL. Leaves
 * out the URLs that are not checked within 10 s. If the signal is aborted, throws its reason.
 */
export async function filterUrls(
  urls: Iterable<string>,
  isPermitted: (url: string) => boolean,
  signal: AbortSignal,
): Promise<string[]> {
  const permitted: string[] = [];
  const endsAtMs = performance.now() + MAX_CHECKS_MS;
  let sliceEndsAtMs = performance.now() + MAX_SLICE_MS;
  for (const url of urls) {
    if (isPermitted(url)) permitted.push(url);
    if (performance.now() < sliceEndsAtMs) continue;
    await yieldToEventLoop();
    signal.throwIfAborted();
    if (performance.now() > endsAtMs) break;
    sliceEndsAtMs = performance.now() + MAX_SLICE_MS;
  }
  return permitted;
}
