import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect, isIP } from "node:net";
import { type Finding, fail, pass, warn } from "./finding.ts";

const CONNECT_TIMEOUT_MS = 5_000;
const MAX_ADDRESSES = 8;

/** Whether the way to a host is open: its addresses, and which of them take connections. */
export type Reach = { findings: Finding[]; open: boolean };

/** Looks a host up and connects to each of its addresses, the families that browsers would try both. */
export async function reach(url: URL): Promise<Reach> {
  const host = hostOf(url);
  let addresses: LookupAddress[];
  try {
    addresses = (await lookup(host, { all: true })).slice(0, MAX_ADDRESSES);
  } catch (error) {
    return { findings: [dnsFailure(host, codeOf(error))], open: false };
  }
  const port = portOf(url);
  const attempts = await Promise.all(addresses.map((address) => attempt(address.address, port)));
  const named = addresses.map(({ address }) => address).join(", ");
  const dns = isIP(host) ? [] : [pass("dns", `${host} is ${named}`)];
  const failed = attempts.filter((each) => each.code !== "");
  const [first] = failed;
  if (first !== undefined && failed.length === attempts.length)
    return { findings: [...dns, connectionFailure(first, port)], open: false };
  const fastest = Math.min(...attempts.filter(({ code }) => code === "").map(({ ms }) => ms));
  if (first === undefined)
    return { findings: [...dns, pass("connection", `port ${port} answers within ${fastest} ms`)], open: true };
  const away = failed.map(({ address, code }) => `${address} (${code})`).join(", ");
  return {
    findings: [
      ...dns,
      warn("connection", `of ${attempts.length} addresses ${failed.length} cannot be connected to: ${away}`, {
        mend: "take those addresses out of DNS, or open the way to them: visitors who are given one wait or fail",
      }),
    ],
    open: true,
  };
}

type Attempt = { address: string; code: string; ms: number };

async function attempt(address: string, port: number): Promise<Attempt> {
  const start = performance.now();
  const socket = connect({ host: address, port });
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
    return { address, code: "", ms: Math.round(performance.now() - start) };
  } catch (error) {
    return { address, code: codeOf(error), ms: CONNECT_TIMEOUT_MS };
  } finally {
    socket.destroy();
  }
}

function dnsFailure(host: string, code: string): Finding {
  if (code === "ENOTFOUND" || code === "ENODATA")
    return fail("dns", `no address is known for ${host} (${code})`, {
      mend: `make a DNS record for ${host} that leads to the load balancer or ingress, or correct the URL`,
    });
  return fail("dns", `${host} could not be looked up (${code})`, {
    mend: "the name server did not answer: try again, and see whether this machine reaches it",
  });
}

function connectionFailure({ code }: Attempt, port: number): Finding {
  const at = `port ${port}`;
  switch (code) {
    case "ECONNREFUSED":
      return fail("connection", `${at} refuses connections: nothing listens there`, {
        mend: "see that the proxy runs and listens on this port, and that the URL names the right one",
      });
    case "TIMEOUT":
    case "ETIMEDOUT":
      return fail("connection", `${at} does not answer within ${CONNECT_TIMEOUT_MS / 1_000} s: packets are dropped`, {
        mend: "open the port in the firewall or security group on the way",
      });
    default:
      return fail("connection", `${at} cannot be connected to (${code})`, {
        mend: "see that there is a route from this machine to that address",
      });
  }
}

/** A URL's host without the brackets of IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

export function portOf({ port, protocol }: URL): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

/** A system error's name; TIMEOUT for a time limit of ours. */
export function codeOf(error: unknown): string {
  const { name, code } = error as NodeJS.ErrnoException;
  if (name === "AbortError" || name === "TimeoutError") return "TIMEOUT";
  return typeof code === "string" ? code : "UNKNOWN";
}
