import { createHash } from "node:crypto";
import { isLongerThan } from "@parley/service-kit";
import { isCrawlableLink } from "../documents/index.ts";

const MAX_NAME_CHARACTERS = 200;
const MAX_SEGMENTS = 20;
/** A path such as /a/b/a/b/a comes from relative links that lead to each other for ever. */
const MAX_EQUAL_SEGMENTS = 2;
const MAX_PARAMETERS = 8;
/** Parameters that name a campaign or a session, not a page. */
const IGNORED_PARAMETERS =
  /^(?:utm_\w+|gclid|gbraid|wbraid|dclid|fbclid|msclkid|yclid|igshid|mc_cid|mc_eid|_ga|_gl|_hsenc|_hsmi|phpsessid|jsessionid|sid|sessionid)$/i;

/** Returns the form of an http or https URL that identifies a page: without the fragment and without parameters of campaigns and sessions. */
export function normalizeUrl(text: string): string {
  const url = new URL(text);
  url.hash = "";
  url.pathname = url.pathname.replace(/;jsessionid=[^/;]*/gi, "");
  // Not with URLSearchParams, which would change how the other parameters are encoded.
  const kept = url.search.slice(1).split("&").filter(isKeptParameter);
  url.search = kept.join("&");
  return url.href;
}

function isKeptParameter(parameter: string): boolean {
  const [name = ""] = parameter.split("=");
  return parameter !== "" && !IGNORED_PARAMETERS.test(name);
}

/** Returns whether both URLs have the same host and port. `www.` and the protocol do not matter. */
export function isSameSite(a: string, b: string): boolean {
  return siteOf(a) === siteOf(b);
}

function siteOf(text: string): string {
  const { hostname, port } = new URL(text);
  return `${hostname.replace(/^www\./, "")}:${port}`;
}

/** Returns whether a URL looks like one of endlessly many, such as those of a calendar's links. */
function isEndless(text: string): boolean {
  const { pathname, search } = new URL(text);
  const segments = pathname.split("/").filter((segment) => segment !== "");
  const counts = new Map<string, number>();
  for (const segment of segments) counts.set(segment, (counts.get(segment) ?? 0) + 1);
  return (
    segments.length > MAX_SEGMENTS ||
    Math.max(0, ...counts.values()) > MAX_EQUAL_SEGMENTS ||
    search.split("&").length > MAX_PARAMETERS
  );
}

export type Patterns = { include: readonly string[]; exclude: readonly string[] };

/** Returns whether the crawl may fetch a page of its site. */
export function isCrawlable(url: string, { exclude }: Patterns): boolean {
  return isCrawlableLink(url) && !isEndless(url) && !matchesAny(url, exclude);
}

/** Returns whether a page becomes a document. */
export function isIncluded(url: string, { include }: Patterns): boolean {
  return include.length === 0 || matchesAny(url, include);
}

/** Returns whether the path and the query of a URL begin with one of the patterns, as in robots.txt. */
function matchesAny(url: string, patterns: readonly string[]): boolean {
  const path = encodedPathOf(url);
  return patterns.some((pattern) => matchesPath(path, parsePattern(encodePath(pattern))));
}

/** Returns the path and the query of a URL, encoded as encodePath does. */
export function encodedPathOf(url: string): string {
  const { pathname, search } = new URL(url);
  return encodePath(pathname + search);
}

/** The escapes of the characters that need none. */
const NEEDLESS_ESCAPE = /%(?:2[DE]|3\d|4[1-9A-F]|5[\dAF]|6[1-9A-F]|7[\dAE])/g;

/** Encodes a path or a pattern in the one form in which RFC 9309 compares them. URLs leave some characters as they are, such as `[`. */
export function encodePath(path: string): string {
  return encodeURI(path)
    .replaceAll("%25", "%")
    .replaceAll("'", "%27")
    .replace(/%(?:[a-f][\da-fA-F]|[\dA-F][a-f])/g, (code) => code.toUpperCase())
    .replace(NEEDLESS_ESCAPE, (code) => decodeURIComponent(code));
}

/** A pattern of paths: the texts between its wildcards, and whether it must match the path to its end. */
export type PathPattern = { first: string; rest: readonly string[]; isAnchored: boolean };

/** Parses a pattern, in which `*` stands for any text, and a `$` at the end for the end of the path. */
export function parsePattern(pattern: string): PathPattern {
  const isAnchored = pattern.endsWith("$");
  const [first = "", ...rest] = (isAnchored ? pattern.slice(0, -1) : pattern).split("*");
  return { first, rest, isAnchored };
}

/** Returns whether a path begins with a pattern. Searches for each text between the wildcards once. */
export function matchesPath(path: string, { first, rest, isAnchored }: PathPattern): boolean {
  if (!path.startsWith(first)) return false;
  let position = first.length;
  for (const [index, part] of rest.entries()) {
    const isLast = isAnchored && index === rest.length - 1;
    const found = isLast ? path.length - part.length : path.indexOf(part, position);
    if (found < position || !path.startsWith(part, found)) return false;
    position = found + part.length;
  }
  return !isAnchored || position === path.length;
}

/** Returns the name of a page's document: its URL in readable form, shortened if it is too long for a name. */
export function documentName(url: string): string {
  const name = decode(url);
  if (!isLongerThan(name, MAX_NAME_CHARACTERS)) return name;
  const hash = createHash("sha256").update(url).digest("hex").slice(0, 12);
  return `${[...name].slice(0, MAX_NAME_CHARACTERS - hash.length - 1).join("")}…${hash}`;
}

function decode(url: string): string {
  try {
    const decoded = decodeURI(url);
    return /[\p{C}\p{Z}]/u.test(decoded) ? url : decoded;
  } catch {
    return url;
  }
}
