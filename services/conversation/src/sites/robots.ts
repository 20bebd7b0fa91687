import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { USER_AGENT } from "../documents/index.ts";
import { encodedPathOf, encodePath, matchesPath, type PathPattern, parsePattern } from "./page-url.ts";

// Not with a library: those that exist parse a text of 500 KiB in one step of 0.5 s, while visitors' turns wait, and need milliseconds for each URL.

/** A longer delay would let a crawl take days. */
const MAX_CRAWL_DELAY_MS = 60_000;
/** The least that RFC 9309 demands. A longer text is cut. */
const MAX_BYTES = 500 * 1024;
/** A longer rule without a wildcard matches no URL that is crawled. */
const MAX_RULE_CHARACTERS = 2_000;
/** More wildcards than this would take longer than 10 ms for one URL. */
const MAX_WILDCARD_CHARACTERS = 20_000;
/** How long robots.txt may keep visitors' turns waiting. */
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

/** The rules for a user agent. Several groups of lines for the same one are one. */
type Group = {
  isNamed: boolean;
  /** Whether each pattern is allowed. */
  rules: Map<string, boolean>;
  wildcardCharacters: number;
  crawlDelaySeconds: number;
};

type Rule = PathPattern & { length: number; isAllowed: boolean };

/**
 * Reads a robots.txt as in RFC 9309, with `crawl-delay` and sitemaps. An empty text permits everything. Lets other work run in between. Returns
 * undefined if the rules with wildcards would take too long to check. If the signal is aborted, throws its reason.
 */
export async function parseRobotsTxt(text: string, signal: AbortSignal): Promise<Robots | undefined> {
  // Only these two, because a text can name very many user agents.
  const groups = new Map([USER_AGENT.toLowerCase(), "*"].map((agent) => [agent, emptyGroup()]));
  const sitemaps: string[] = [];
  let named = new Set<Group>();
  let isNaming = false;
  for await (const [line] of inSlices(text.matchAll(/[^\r\n]+/g), signal)) {
    const { key, value } = parseLine(line);
    if (key === "sitemap" && URL.canParse(value)) sitemaps.push(value);
    if (key === "user-agent") {
      if (!isNaming) named = new Set();
      isNaming = true;
      const group = groups.get(productOf(value));
      if (group === undefined) continue;
      group.isNamed = true;
      named.add(group);
    } else if (["allow", "disallow", "crawl-delay"].includes(key)) {
      isNaming = false;
      for (const group of named) addRule(group, key, value);
    }
  }
  const group = [...groups.values()].find(({ isNamed }) => isNamed) ?? emptyGroup();
  if (group.wildcardCharacters > MAX_WILDCARD_CHARACTERS) return undefined;
  const rules: Rule[] = [];
  for await (const [pattern, isAllowed] of inSlices(group.rules, signal))
    rules.push({ ...parsePattern(pattern), length: pattern.length, isAllowed });
  return {
    // The rules are valid for all URLs of the site, also with another protocol or with www.
    mayFetch: (url) => mayFetch(url, rules),
    crawlDelayMs: Math.min(group.crawlDelaySeconds * 1_000, MAX_CRAWL_DELAY_MS),
    sitemaps,
    characters: text.length,
  };
}

function parseLine(line: string): { key: string; value: string } {
  const [rule = ""] = line.split("#", 1);
  const colon = rule.indexOf(":");
  return { key: rule.slice(0, Math.max(0, colon)).trim().toLowerCase(), value: rule.slice(colon + 1).trim() };
}

/** Returns the name of a user agent without its version. */
function productOf(agent: string): string {
  const [product = ""] = agent.toLowerCase().split("/", 1);
  return product.trim();
}

function emptyGroup(): Group {
  return { isNamed: false, rules: new Map(), wildcardCharacters: 0, crawlDelaySeconds: 0 };
}

function addRule(group: Group, key: string, value: string): void {
  if (key === "crawl-delay") {
    if (Number(value) > 0) group.crawlDelaySeconds = Number(value);
    return;
  }
  if (value.includes("*")) group.wildcardCharacters += value.length;
  else if (value.length > MAX_RULE_CHARACTERS) return;
  // An empty rule has no effect. A group with too many wildcards is not used.
  if (value === "" || group.wildcardCharacters > MAX_WILDCARD_CHARACTERS) return;
  const pattern = encodePath(value);
  group.rules.set(pattern, key === "allow" || group.rules.get(pattern) === true);
}

/** Applies the longest rule that matches. Of two, the one that allows the URL. */
function mayFetch(url: string, rules: readonly Rule[]): boolean {
  const path = encodedPathOf(url);
  let best: Rule | undefined;
  for (const rule of rules) {
    if (best !== undefined && (rule.length < best.length || (rule.length === best.length && !rule.isAllowed))) continue;
    if (matchesPath(path, rule)) best = rule;
  }
  return best?.isAllowed ?? true;
}

/** Decodes a robots.txt. Returns the whole lines in the first 500 KiB. */
export function decodeRobotsTxt(body: Uint8Array): string {
  const text = new TextDecoder().decode(body.subarray(0, MAX_BYTES));
  return body.length <= MAX_BYTES ? text : text.slice(0, Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1);
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
  for await (const url of inSlices(urls, signal)) {
    if (performance.now() > endsAtMs) break;
    if (isPermitted(url)) permitted.push(url);
  }
  return permitted;
}

/** Yields the items. Lets other work run after each 10 ms. If the signal is aborted, throws its reason. */
async function* inSlices<T>(items: Iterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  signal.throwIfAborted();
  let endsAtMs = performance.now() + MAX_SLICE_MS;
  for (const item of items) {
    yield item;
    if (performance.now() < endsAtMs) continue;
    await yieldToEventLoop();
    signal.throwIfAborted();
    endsAtMs = performance.now() + MAX_SLICE_MS;
  }
}
