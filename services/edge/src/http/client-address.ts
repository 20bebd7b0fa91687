import { isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * The bucket of a client address: an IPv4 address, also when it is written inside an IPv6 one; an IPv6 address's /64, since
 * a single visitor owns all of it. Text that is no address is a bucket of its own.
 */
export function addressBucket(address: string): string {
  if (isIPv4(address)) return address;
  if (!ipaddr.isValid(address)) return "unknown";
  const parsed = ipaddr.process(address);
  if (parsed.kind() === "ipv4") return parsed.toString();
  const network = (parsed as ipaddr.IPv6).parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(":")}::/64`;
}
