import { domainToASCII } from "node:url";
import { invalidArgument } from "@parley/service-kit";
import { coversPublicSuffix } from "./public-suffixes.ts";

const MAX_ENTRY_CHARACTERS = 300;
const MAX_DOMAINS = 100;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };
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
 * Normalises an allowed domain to the stored form `[scheme://]host[:port]`. The host is lower-case ASCII, optionally with the prefix `*.`.
 * Removes the scheme's default port, or port 443 if there is no scheme. Keeps the port of localhost and 127.0.0.1, because these hosts
 * without a port allow any port. Throws invalid_argument with the reason if the entry is not valid.
 */
export function normaliseAllowedDomain(entry: string): string {
  const refuse = (reason: string) =>
    invalidArgument(`"${entry.slice(0, MAX_ENTRY_CHARACTERS)}" is not an allowed domain: ${reason}`);
  if (entry.length > MAX_ENTRY_CHARACTERS) throw refuse("it is too long");
  if (INVISIBLE.test(entry)) throw refuse("it contains a line break or another invisible character");
  const text = entry.trim();
  if (text === "") throw refuse("it is empty");
  const { scheme, authority } = splitScheme(text, refuse);
  if (authority.includes("@")) throw refuse("it must not contain credentials");
  if (/[/?#\\]/.test(authority)) throw refuse("only a host is allowed, without a path or query");
  const { host, port } = splitPort(authority, refuse);
  const name = normaliseHost(host, refuse);
  const isRedundant = port === DEFAULT_PORTS[scheme || "https:"] && name !== "localhost" && name !== "127.0.0.1";
  return `${scheme && `${scheme}//`}${name}${port === "" || isRedundant ? "" : `:${port}`}`;
}

type Refuse = (reason: string) => Error;

function splitScheme(text: string, refuse: Refuse): { scheme: string; authority: string } {
  const end = text.indexOf("://");
  if (end === -1) return { scheme: "", authority: text };
  const scheme = `${text.slice(0, end).toLowerCase()}:`;
  if (!(scheme in DEFAULT_PORTS)) throw refuse("its scheme must be https or http");
  // Browsers add a slash to a host that is copied from the address bar.
  return { scheme, authority: text.slice(end + 3).replace(/\/$/, "") };
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
