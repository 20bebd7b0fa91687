import { BlockList, isIPv4 } from "node:net";
import { type Finding, fail, pass, warn } from "./finding.ts";
import type { PacedRun } from "./paced-run.ts";

/** Addresses of documentation (RFC 5737), which nobody has. The right one is what a proxy that passes them on would be believed. */
export const FORGED = { left: "192.0.2.78", right: "192.0.2.77" };
export const FORGED_HEADERS = { "x-forwarded-for": `${FORGED.left}, ${FORGED.right}` };

const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const)
  PRIVATE.addSubnet(network, prefix, "ipv4");
PRIVATE.addSubnet("fc00::", 7, "ipv6");
PRIVATE.addSubnet("fe80::", 10, "ipv6");
PRIVATE.addAddress("::1", "ipv6");

export function isPrivate(address: string): boolean {
  return PRIVATE.check(address, isIPv4(address) ? "ipv4" : "ipv6");
}

const trust = (address: string) =>
  `put the network of ${address} into edge.trustedProxies of the chart (TRUSTED_PROXIES of the edge)`;

/** Whether visitors are told apart by their own addresses. */
export function judgeAddress(run: PacedRun): Finding {
  if (run.meta === undefined) return warn("client_address", "not seen: the stream did not begin", {});
  const { client, forwarded_headers: arrived } = run.meta;
  const { address, counted_as: counted, from } = client;
  const local = plain(run.localAddress);
  if (address === local) return pass("client_address", `this machine is seen and counted as ${counted}`);
  const everyone = "every visitor shares one rate limit";
  if (from === "connection" && arrived.includes("x-forwarded-for"))
    return fail("client_address", `counted as ${counted}, the proxy that told another address: ${everyone}`, {
      ailment: "address",
      mend: trust(address),
    });
  if (from === "connection" && isPrivate(address))
    return fail(
      "client_address",
      `counted as ${counted}, which is not this machine, and no address was told: ${everyone}`,
      {
        ailment: "address",
        mend: `have the proxy send X-Forwarded-For, and ${trust(address)}`,
      },
    );
  if (from === "x-forwarded-for" && isPrivate(address) && !isPrivate(local))
    return fail("client_address", `counted as ${counted}, one more proxy on the way: ${everyone}`, {
      ailment: "address",
      mend: trust(address),
    });
  return pass("client_address", `seen and counted as ${counted}: see that this is your own public address`);
}

/** Whether a visitor can choose what address is counted. @param honest the same request without a forged header */
export function judgeForgery(honest: PacedRun, forged: PacedRun): Finding {
  const seen = forged.meta?.client.address;
  if (seen === undefined || honest.meta === undefined)
    return warn("forged_address", "not seen: the stream did not begin", {});
  if (seen === FORGED.left)
    return fail("forged_address", "a forged X-Forwarded-For is believed: every address is trusted as a proxy", {
      ailment: "forged",
      mend: "put nothing but the proxies' own networks into edge.trustedProxies (TRUSTED_PROXIES)",
    });
  if (seen !== FORGED.right) return pass("forged_address", "a forged X-Forwarded-For is not believed");
  const own = honest.meta.client;
  if (own.from === "x-forwarded-for" && isPrivate(own.address))
    return warn(
      "forged_address",
      `${own.address}, this machine, is itself among the trusted proxies: what it forges is believed, and cannot tell what a visitor could`,
      { mend: "run this from outside the networks in edge.trustedProxies (TRUSTED_PROXIES)" },
    );
  return fail("forged_address", "a forged X-Forwarded-For is believed: a visitor can choose what address is counted", {
    ailment: "forged",
  });
}

/** IPv4 as it is written by itself. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}
