import { isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * Returns the rate-limit bucket of a client address: the IPv4 address, even if it is mapped into IPv6, or the /64 of an IPv6 address. One
 * visitor usually has a whole /64. Invalid addresses share the bucket "unknown".
 */
export function addressBucket(address: string): string {
  if (isIPv4(address)) return address;
  if (!ipaddr.isValid(address)) return "unknown";
  const parsed = ipaddr.process(address);
  if (parsed.kind() === "ipv4") return parsed.toString();
  const network = (parsed as ipaddr.IPv6).parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(":")}::/64`;
}
