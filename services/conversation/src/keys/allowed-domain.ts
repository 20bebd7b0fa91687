import { domainToASCII } from "node:url";
import { invalidArgument } from "@parley/service-kit";
import { coversPublicSuffix } from "./public-suffixes.ts";

/** Page addresses may be longer than what is stored of them. */
const MAX_ENTRY_CHARACTERS = 4_000;
const MAX_AUTHORITY_CHARACTERS = 300;
const MAX_SHOWN_CHARACTERS = 300;
const MAX_DOMAINS = 100;
/** The schemes of apps and browser extensions, whose hosts may contain dots. Any other scheme of an app needs a host without dots. */
const APP_SCHEME = /^(capacitor|ionic|tauri|app|vscode-webview|[a-z-]+-extension):$/;
/** A page of these schemes has the origin `null` or that of another page, or the scheme is none of pages. */
const REFUSED_SCHEMES = new Set(
  ["about", "blob", "data", "file", "ftp", "javascript", "mailto", "tel", "view-source", "ws", "wss"].map(
    (each) => `${each}:`,
  ),
);
const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };
/** An app may also have a host such as `-`. */
const APP_LABEL = /^[a-z0-9_-]{1,63}$/;
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
/**
 * Matches control characters, and characters that domainToASCII drops: `shop.exa\nmple` would become `shop.example`. Does not match the
 * joiners U+200C and U+200D, because domainToASCII checks them.
 */
const INVISIBLE = /(?![\u200c\u200d])[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]/u;
const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;

/** Normalises 1 to 100 entries and removes duplicates. Throws invalid_argument for the first entry that is not valid. */
export function normaliseAllowedDomains(entries: readonly string[]): string[] {
  if (entries.length === 0 || entries.length > MAX_DOMAINS)
    throw invalidArgument(`a key needs 1 to ${MAX_DOMAINS} allowed domains`);
  return [...new Set(entries.map(normaliseAllowedDomain))];
}

/**
 * Normalises an allowed domain to the stored form `[scheme://]host[:port]`. Of a page's address, keeps the origin. The host is lower-case ASCII,
 * optionally with the prefix `*.`. Removes the scheme's default port, or port 443 if there is no scheme. Keeps the port of localhost and 127.0.0.1, because these hosts
 * without a port allow any port. Throws invalid_argument with the reason if the entry is not valid.
 */
export function normaliseAllowedDomain(entry: string): string {
  const refuse = (reason: string) =>
    invalidArgument(`"${entry.slice(0, MAX_SHOWN_CHARACTERS)}" is not an allowed domain: ${reason}`);
  if (entry.length > MAX_ENTRY_CHARACTERS) throw refuse("it is too long");
  if (INVISIBLE.test(entry)) throw refuse("it contains a line break or another invisible character");
  const text = entry.trim();
  if (text === "") throw refuse("it is empty");
  const { scheme, authority } = splitScheme(text, refuse);
  if (authority.length > MAX_AUTHORITY_CHARACTERS) throw refuse("it is too long");
  if (authority.includes("@")) throw refuse("it must not contain credentials");
  if (authority.includes("\\")) throw refuse("it must not contain a backslash");
  const { host, port } = splitPort(authority, refuse);
  if (scheme !== "" && !(scheme in DEFAULT_PORTS)) return `${scheme}//${normaliseAppHost(scheme, host, port, refuse)}`;
  const name = normaliseHost(host, refuse);
  if (name === "null" && scheme === "")
    throw refuse("files and sandboxed frames of every site have the origin null; name the domain of the page");
  const isRedundant = port === DEFAULT_PORTS[scheme || "https:"] && name !== "localhost" && name !== "127.0.0.1";
  return `${scheme && `${scheme}//`}${name}${port === "" || isRedundant ? "" : `:${port}`}`;
}

type Refuse = (reason: string) => Error;

/** Drops the path, query and fragment of a page's address. */
function splitScheme(text: string, refuse: Refuse): { scheme: string; authority: string } {
  const [, prefix, authority = ""] = /^(?:([^/?#]*):\/\/)?([^/?#]*)/.exec(text) ?? [];
  if (prefix === undefined) return { scheme: "", authority };
  const scheme = `${prefix.toLowerCase()}:`;
  if (REFUSED_SCHEMES.has(scheme) || !/^[a-z][a-z0-9+.-]*:$/.test(scheme))
    throw refuse("its scheme must be https or http, or that of an app or browser extension");
  return { scheme, authority };
}

/** Normalises the host of an app's or browser extension's origin, such as `capacitor://localhost`. The edge ignores its case. */
function normaliseAppHost(scheme: string, host: string, port: string, refuse: Refuse): string {
  const name = host.toLowerCase();
  if (name.includes("*")) throw refuse("the origin of an app or browser extension has no wildcard");
  if (port !== "") throw refuse("the origin of an app or browser extension has no port");
  const labels = name.split(".");
  if (!labels.every((label) => APP_LABEL.test(label))) throw refuse("its host is not a valid name");
  // Otherwise a misspelt scheme, as in htps://shop.example, would be stored and match no page.
  if (labels.length > 1 && !APP_SCHEME.test(scheme))
    throw refuse("its scheme must be https or http, or that of an app or browser extension");
  return name;
}

function splitPort(authority: string, refuse: Refuse): { host: string; port: string } {
  const found = /^(\[[^\]]*\]|[^:]*)(?::([^:]*))?$/.exec(authority);
  if (found === null) throw refuse("it has more than one port, or an IPv6 address without brackets");
  const [, host = "", port] = found;
  if (port === undefined) return { host, port: "" };
  const number = Number(port);
  if (!/^\d{1,5}$/.test(port) || number < 1 || number > 65_535)
    throw refuse("its port must be a number from 1 to 65535");
  return { host, port: String(number) };
}

function normaliseHost(host: string, refuse: Refuse): string {
  if (host.startsWith("[")) return normaliseIpv6(host, refuse);
  if (host === "*") throw refuse("a bare * would allow every site; name the domains");
  const isWildcard = host.startsWith("*.");
  const name = isWildcard ? host.slice(2) : host;
  if (name.includes("*")) throw refuse("a * must replace whole subdomains, as in *.example.com");
  if (name.endsWith(".")) throw refuse("it must not end in a dot");
  const ascii = domainToASCII(name);
  // Entries must not rely on domainToASCII's decoding of percent-encoding or its expansion of short IPv4 addresses.
  if (ascii === "" || name.includes("%") || (IPV4.test(ascii) && ascii !== name))
    throw refuse("its host is not a valid name");
  const labels = ascii.split(".");
  if (ascii.length > 253 || !labels.every((label) => LABEL.test(label))) throw refuse("its host is not a valid name");
  if (isWildcard && (labels.length < 2 || IPV4.test(ascii)))
    throw refuse("a wildcard needs at least two labels after the *, as in *.example.com");
  if (isWildcard && coversPublicSuffix(ascii))
    throw refuse("anyone can register a name there; put a domain of your own after the *");
  return isWildcard ? `*.${ascii}` : ascii;
}

function normaliseIpv6(host: string, refuse: Refuse): string {
  const url = `https://${host}`;
  if (!URL.canParse(url)) throw refuse("its host is not a valid IPv6 address");
  return new URL(url).hostname;
}
