import ipaddr from "ipaddr.js";
import { type EgressError, unreachableError } from "./error.ts";

// Addresses in a public range, each reachable only from a cloud provider's virtual machines.
const CLOUD_INTERNAL_ADDRESSES = new Set(["168.63.129.16"]);

/** The only range from which IANA assigns public IPv6 addresses. ipaddr.js recognizes the special ranges within it, such as 6to4 and Teredo. */
const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3") as [ipaddr.IPv6, number];

/**
 * Decides which addresses a request for the URL of a tool or a document may reach: public addresses, and those in EGRESS_ALLOW. Loopback,
 * private, link-local (cloud metadata), reserved, unassigned and tunnelled addresses are not public.
 */
export class EgressPolicy {
  readonly #allowed: ReturnType<typeof ipaddr.parseCIDR>[];

  /** `allow` is EGRESS_ALLOW: CIDRs or single addresses. Throws an Error that names the first entry that is neither. */
  constructor(allow: readonly string[] = []) {
    this.#allowed = allow.map(parseRange);
  }

  permits(address: string): boolean {
    const parsed = parseAddress(address);
    return parsed !== undefined && (this.#isInAllowList(parsed) || isPublic(parsed));
  }

  /** Returns whether EGRESS_ALLOW contains the address. */
  isInAllowList(address: string): boolean {
    const parsed = parseAddress(address);
    return parsed !== undefined && this.#isInAllowList(parsed);
  }

  #isInAllowList(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
    return this.#allowed.some((range) => address.kind() === range[0].kind() && address.match(range));
  }
}

/** How requests for the URLs of tools and documents leave the service. */
export type Egress = {
  policy: EgressPolicy;
  /** The HTTP proxy for public addresses. Addresses in EGRESS_ALLOW are reached without it. */
  proxyUrl?: string | undefined;
};

function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  // An address with a zone (fe80::1%eth0) is valid on this machine only.
  if (!ipaddr.isValid(text) || text.includes("%")) return undefined;
  // Converts `::ffff:10.0.0.1` to 10.0.0.1.
  return ipaddr.process(text);
}

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== "unicast" || CLOUD_INTERNAL_ADDRESSES.has(address.toString())) return false;
  return address instanceof ipaddr.IPv4 || (address.match(GLOBAL_IPV6) && !isIsatap(address));
}

/**
 * Returns whether the address is an ISATAP address: its last 64 bits are 0:5efe:a.b.c.d or 200:5efe:a.b.c.d (RFC 5214). Routers tunnel packets
 * for it to the IPv4 address a.b.c.d.
 */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return parts[5] === 0x5efe && (parts[4] === 0 || parts[4] === 0x200);
}

/** Returns the error for a host without a permitted address. */
export function addressRefusedError(host: string): EgressError {
  return unreachableError(`${host} has no public address; EGRESS_ALLOW can permit its address`);
}

function parseRange(text: string): ReturnType<typeof ipaddr.parseCIDR> {
  try {
    const [address, bits] = text.includes("/") ? ipaddr.parseCIDR(text) : parseSingleAddress(text);
    // Converts an IPv4-mapped range to an IPv4 range, because parseAddress converts IPv4-mapped addresses to IPv4.
    return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96
      ? [address.toIPv4Address(), bits - 96]
      : [address, bits];
  } catch (cause) {
    throw new Error(`"${text}" is neither an address nor a CIDR such as 10.0.0.0/8`, { cause });
  }
}

function parseSingleAddress(text: string): ReturnType<typeof ipaddr.parseCIDR> {
  const address = ipaddr.parse(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}
