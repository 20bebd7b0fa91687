import ipaddr from "ipaddr.js";
import { EgressError } from "./error.ts";

// Addresses in public ranges at which a cloud provider serves only its own virtual machines.
const CLOUD_INTERNAL = new Set(["168.63.129.16"]);

/**
 * Decides which addresses a request for a user's URL may reach: public addresses, and those that the operator allows. Loopback, private,
 * link-local (cloud metadata), reserved and tunnelled addresses are not public.
 */
export class EgressPolicy {
  readonly #allowed: ReturnType<typeof ipaddr.parseCIDR>[];

  /** @param allow CIDRs or single addresses. Throws an Error that names the first entry that is neither. */
  constructor(allow: readonly string[] = []) {
    this.#allowed = allow.map(parseRange);
  }

  permits(address: string): boolean {
    // An address with a zone (fe80::1%eth0) is valid on this machine only.
    if (!ipaddr.isValid(address) || address.includes("%")) return false;
    // Converts `::ffff:10.0.0.1` to 10.0.0.1.
    const parsed = ipaddr.process(address);
    const isAllowed = this.#allowed.some((range) => parsed.kind() === range[0].kind() && parsed.match(range));
    return isAllowed || (parsed.range() === "unicast" && !CLOUD_INTERNAL.has(parsed.toString()));
  }
}

/** Returns the error for a host without a permitted address. It does not reveal the address. */
export function addressRefused(host: string): EgressError {
  const message = `${host} has an address inside a private network; EGRESS_ALLOW can permit it`;
  return new EgressError("address_refused", message);
}

function parseRange(text: string): ReturnType<typeof ipaddr.parseCIDR> {
  try {
    const [address, bits] = text.includes("/") ? ipaddr.parseCIDR(text) : singleAddress(text);
    return [address, bits];
  } catch (cause) {
    throw new Error(`"${text}" is not a CIDR such as 10.0.0.0/8`, { cause });
  }
}

function singleAddress(text: string): ReturnType<typeof ipaddr.parseCIDR> {
  const address = ipaddr.parse(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}
