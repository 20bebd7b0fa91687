import { BlockList, isIP, isIPv4 } from "node:net";
import { type Finding, fail, pass, warn } from "./finding.ts";
import type { PacedRun, UnansweredRun } from "./paced-run.ts";

/**
 * Two addresses reserved for documentation (RFC 5737). If a trusted proxy forwards FORGED_HEADERS unchanged, the edge takes `right` as the
 * client's address. If the edge trusts every address as a proxy, it takes `left`.
 */
export const FORGED_ADDRESSES = { left: "192.0.2.78", right: "192.0.2.77" };
export const FORGED_HEADERS = { "x-forwarded-for": `${FORGED_ADDRESSES.left}, ${FORGED_ADDRESSES.right}` };

const PRIVATE_NETWORKS = new BlockList();
for (const [network, prefix] of [
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const)
  PRIVATE_NETWORKS.addSubnet(network, prefix, "ipv4");
PRIVATE_NETWORKS.addSubnet("fc00::", 7, "ipv6");
PRIVATE_NETWORKS.addSubnet("fe80::", 10, "ipv6");
PRIVATE_NETWORKS.addAddress("::1", "ipv6");

/** Returns whether an address belongs to a private, shared, loopback or link-local network. */
export function isPrivate(address: string): boolean {
  return PRIVATE_NETWORKS.check(address, isIPv4(address) ? "ipv4" : "ipv6");
}

const describeTrustFix = (address: string) =>
  `add the network of ${address} to edge.trustedProxies in the chart (TRUSTED_PROXIES of the edge)`;

/** Checks whether the edge counts each visitor's own address for the rate limit. */
export function checkClientAddress(run: PacedRun): Finding {
  if (run.meta === undefined) return warn("client_address", "not checked: the stream did not start", {});
  const { client, forwarded_headers: forwardedHeaders } = run.meta;
  const { address, counted_as: counted, from } = client;
  const localAddress = unmapIpv4(run.localAddress);
  if (address === localAddress) return pass("client_address", `the edge counts this machine as ${counted}`);
  const consequence = "all visitors share one rate limit";
  if (isIP(address) === 0)
    return fail("client_address", `the proxy forwards an address that the edge cannot read: ${consequence}`, {
      cause: "address",
      fix: "configure the proxy to send the visitor's IP address in X-Forwarded-For",
    });
  if (from === "connection" && forwardedHeaders.includes("x-forwarded-for"))
    return fail(
      "client_address",
      `counted as ${counted}, the address of the proxy, although the proxy forwards another address: ${consequence}`,
      {
        cause: "address",
        fix: describeTrustFix(address),
      },
    );
  if (from === "connection" && isPrivate(address))
    return fail(
      "client_address",
      `counted as ${counted}, which is not this machine, and the proxy forwards no address: ${consequence}`,
      {
        cause: "address",
        fix: `configure the proxy to send X-Forwarded-For, and ${describeTrustFix(address)}`,
      },
    );
  if (from === "x-forwarded-for" && isPrivate(address) && !isPrivate(localAddress))
    return fail("client_address", `counted as ${counted}, the address of another proxy: ${consequence}`, {
      cause: "address",
      fix: describeTrustFix(address),
    });
  return pass("client_address", `counted as ${counted}; check that this is your public address`);
}

/** Checks whether a visitor can choose the address that the edge counts for the rate limit. `unforged` is the run without the forged header. */
export function checkForgedAddress(unforged: PacedRun, forged: PacedRun | UnansweredRun): Finding {
  if ("errorCode" in forged)
    return warn(
      "forged_address",
      `not checked: the request with a forged X-Forwarded-For got no response (${forged.errorCode})`,
      { fix: "run the command again; if the result is the same, a proxy or firewall refuses such requests" },
    );
  const countedAddress = forged.meta?.client.address;
  if (countedAddress === undefined || unforged.meta === undefined)
    return warn("forged_address", "not checked: the stream did not start", {});
  if (countedAddress === FORGED_ADDRESSES.left)
    return fail("forged_address", "the edge accepts a forged X-Forwarded-For: it trusts every address as a proxy", {
      cause: "forged",
      fix: "list only the proxies' networks in edge.trustedProxies (TRUSTED_PROXIES)",
    });
  if (countedAddress !== FORGED_ADDRESSES.right)
    return pass("forged_address", "the edge ignores a forged X-Forwarded-For");
  const own = unforged.meta.client;
  // Either the edge trusts this machine as a proxy, or a proxy forwards the header unchanged. Assume that this machine is trusted if the
  // unforged run connected directly to the edge, or if a proxy sent the edge a private address as this machine's address in that run.
  const isThisMachineTrusted =
    own.from === "connection" ? own.address === unmapIpv4(unforged.localAddress) : isPrivate(own.address);
  if (isThisMachineTrusted)
    return warn(
      "forged_address",
      `not conclusive: this machine (${own.address}) is a trusted proxy itself, so the edge accepts its forged header`,
      { fix: "run the command from outside the networks in edge.trustedProxies (TRUSTED_PROXIES)" },
    );
  return fail("forged_address", "the edge accepts a forged X-Forwarded-For: a visitor can choose the counted address", {
    cause: "forged",
  });
}

/** Converts an IPv4-mapped IPv6 address to IPv4. */
function unmapIpv4(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}
