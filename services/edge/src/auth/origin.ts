// Browsers send a lower-case scheme, a lower-case ASCII host or an IPv6 address in brackets, and a port unless it is the default.
// The Origin header is compared exactly, without decoding, trimming or case folding.
const ORIGIN = /^(https?):\/\/([a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::([1-9]\d{0,4}))?$/;
/** The origin of an app or browser extension. Some browsers send its host, such as an extension's UUID, in upper case. */
const APP_ORIGIN = /^(?!https?:)([a-z][a-z0-9+.-]*):\/\/([a-zA-Z0-9_-]+(?:\.[a-zA-Z0-9_-]+)*)$/;
const ENTRY = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*\.)?([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([1-9]\d{0,4}))?$/;

/** Browsers omit these ports. */
const DEFAULT_PORTS: ReadonlyMap<string, string> = new Map([
  ["http", "80"],
  ["https", "443"],
]);

type DomainEntry = { scheme: string | undefined; isWildcard: boolean; host: string; port: string | undefined };

export type OriginMatcher = (origin: string | undefined) => boolean;

/**
 * Creates a function that checks an Origin header against a key's allowed domains. Each domain has the normalised form
 * [scheme://][*.]host[:port].
 * - A wildcard matches subdomains at any depth, not the host itself.
 * - Without a scheme, only https matches; for localhost and 127.0.0.1 also http.
 * - Without a port, only the default port matches; for localhost and 127.0.0.1 any port.
 * - The origin of an app or browser extension matches only an entry with its scheme.
 */
export function createOriginMatcher(allowedDomains: readonly string[]): OriginMatcher {
  const entries = allowedDomains.map(parseEntry).filter((entry) => entry !== undefined);
  return (origin) => {
    const [, scheme, host, port] = ORIGIN.exec(origin ?? "") ?? [];
    if (scheme !== undefined && host !== undefined)
      return entries.some((entry) => matchesEntry(entry, scheme, host, port));
    const [, appScheme, appHost] = APP_ORIGIN.exec(origin ?? "") ?? [];
    const name = appHost?.toLowerCase();
    return appScheme !== undefined && entries.some((entry) => entry.scheme === appScheme && entry.host === name);
  };
}

function parseEntry(text: string): DomainEntry | undefined {
  const [, scheme, wildcard, host, port] = ENTRY.exec(text) ?? [];
  return host === undefined ? undefined : { scheme, isWildcard: wildcard !== undefined, host, port };
}

function matchesEntry(entry: DomainEntry, scheme: string, host: string, port: string | undefined): boolean {
  const isLocal = !entry.isWildcard && (entry.host === "localhost" || entry.host === "127.0.0.1");
  const hostMatches = entry.isWildcard ? host.endsWith(`.${entry.host}`) : host === entry.host;
  const schemeMatches =
    entry.scheme === undefined ? scheme === "https" || (isLocal && scheme === "http") : scheme === entry.scheme;
  const portMatches =
    entry.port === undefined ? port === undefined || isLocal : entry.port === (port ?? DEFAULT_PORTS.get(scheme));
  return hostMatches && schemeMatches && portMatches;
}
