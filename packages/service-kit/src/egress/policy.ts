import ipaddr from "ipaddr.js";
import { EgressError } from "./error.ts";

// Public by their number, but answered by the machine's own cloud.
const CLOUD_INTERNAL = new Set(["168.63.129.16"]);

/**
 * Which addresses requests to URLs that somebody typed in may go to: the public ones, and what the operator allows beside them. Loopback,
 * private, link-local (where clouds keep their metadata), reserved and tunnelled addresses are not public.
 */
export class EgressPolicy {
  readonly #allowed: ReturnType<typeof ipaddr.parseCIDR>[];

  /** @param allow CIDRs, or single addresses; throws an Error that names the first that is neither. */
  constructor(allow: readonly string[] = []) {
    this.#allowed = allow.map(parseRange);
  }

  permits(address: string): boolean {
    // A zone (fe80::1%eth0) belongs to this machine's links alone.
    if (!ipaddr.isValid(address) || address.includes("%")) return false;
    // `::ffff:10.0.0.1` is 10.0.0.1.
    const parsed = ipaddr.process(address);
    const isAllowed = this.#allowed.some((range) => parsed.kind() === range[0].kind() && parsed.match(range));
    return isAllowed || (parsed.range() === "unicast" && !CLOUD_INTERNAL.has(parsed.toString()));
  }

  /** Throws EgressError for an address that is not permitted; the text names the host and not the address behind it. */
  require(address: string, host: string): void {
    if (!this.permits(address)) throw addressRefused(host);
  }
}

export function addressRefused(host: string): EgressError {
  const message = `${host} has an address inside a private network; EGRESS_ALLOW can permit it`;
  return new EgressError("address_refused", message);
}

function parseRange(text: string): ReturnType<typeof ipaddr.parseCIDR> {
  try {
    const [address, bits] = text.includes("/") ? ipaddr.parseCIDR(text) : singleAddress(text);
    return [address, bits];
  } catch (cause) {
    throw new Error(`"${text}" is no CIDR such as 10.0.0.0/8`, { cause });
  }
}

function singleAddress(text: string): ReturnType<typeof ipaddr.parseCIDR> {
  const address = ipaddr.parse(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}
