import { parse } from "tldts";

/** A document as visitors see it. `url` is empty if the document is not a public page. */
export type ShownSource = { title: string; url: string };

const MAX_TITLE_CHARACTERS = 200;

/**
 * Returns how visitors see the document of a passage, by the bot's setting: with `links` only public pages, with `all` also the titles of other
 * documents. Returns undefined if they do not see it.
 */
export function toShownSource(
  { source, heading, url }: { source: string; heading: string; url: string },
  showSources: string,
): ShownSource | undefined {
  const isPublic = isPublicUrl(url);
  if (!isPublic && showSources !== "all") return undefined;
  const [outermost = ""] = heading.split(" > ");
  // The name of a page is its URL, unless the owner has given it another one.
  const title = /^https?:\/\//i.test(source) && outermost !== "" ? outermost : source;
  return { title: shorten(title), url: isPublic ? url : "" };
}

/**
 * Whether anybody may know a URL: its host has a name in the public part of the DNS, and it has no user name or password. Pages in private networks,
 * which Parley reads only with EGRESS_ALLOW, usually have an address or a local name.
 */
export function isPublicUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, username, password } = new URL(url);
  const { domain, isIp, isIcann } = parse(hostname);
  return /^https?:$/.test(protocol) && username + password === "" && !isIp && isIcann === true && domain !== null;
}

function shorten(title: string): string {
  const characters = [...title];
  return characters.length <= MAX_TITLE_CHARACTERS
    ? title
    : `${characters.slice(0, MAX_TITLE_CHARACTERS - 1).join("")}…`;
}
