import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect, isIP } from "node:net";
import { type Finding, fail, pass, warn } from "./finding.ts";

const CONNECT_TIMEOUT_MS = 5_000;
const MAX_ADDRESSES = 8;

export type Reachability = {
  findings: Finding[];
  /** Whether at least one address of the host accepts connections. */
  isOpen: boolean;
};

/** Resolves a host and connects to each of its IPv4 and IPv6 addresses, up to MAX_ADDRESSES. */
export async function checkReachability(url: URL): Promise<Reachability> {
  const host = hostOf(url);
  let addresses: LookupAddress[];
  try {
    addresses = (await lookup(host, { all: true })).slice(0, MAX_ADDRESSES);
  } catch (error) {
    return { findings: [dnsFailure(host, codeOf(error))], isOpen: false };
  }
  const port = portOf(url);
  const attempts = await Promise.all(addresses.map((address) => tryToConnect(address.address, port)));
  const addressList = addresses.map(({ address }) => address).join(", ");
  const dns = isIP(host) ? [] : [pass("dns", `${host} resolves to ${addressList}`)];
  return {
    findings: [...dns, checkConnections(attempts, port)],
    isOpen: attempts.some(({ code }) => code === ""),
  };
}

/** An attempt to connect. `code` is the error's code; empty after a success. `ms` is the time to connect; ignored after an error. */
export type Attempt = { address: string; code: string; ms: number };

/** The error codes of a machine without a route to the address, such as a machine without IPv6. */
const NO_ROUTE_CODES = ["ENETUNREACH", "EADDRNOTAVAIL", "EHOSTUNREACH"];

/** Returns the finding of the attempts to connect to a host's addresses. */
export function checkConnections(attempts: readonly Attempt[], port: number): Finding {
  const open = attempts.filter(({ code }) => code === "");
  const unrouted = attempts.filter(({ code }) => NO_ROUTE_CODES.includes(code));
  const failed = attempts.filter(({ code }) => code !== "" && !NO_ROUTE_CODES.includes(code));
  const [first] = [...failed, ...unrouted];
  if (first === undefined)
    return pass("connection", `port ${port} accepts connections (${Math.min(...open.map(({ ms }) => ms))} ms)`);
  if (open.length === 0) return connectionFailure(first, port);
  const list = (some: readonly Attempt[]) => some.map(({ address, code }) => `${address} (${code})`).join(", ");
  const notChecked = `not checked: this machine has no route to ${list(unrouted)}`;
  if (failed.length === 0) return warn("connection", notChecked);
  const problem = `${failed.length} of ${attempts.length} addresses do not accept connections: ${list(failed)}`;
  return warn("connection", unrouted.length === 0 ? problem : `${problem}; ${notChecked}`, {
    fix: "remove from DNS the addresses that do not accept connections, or make them reachable; browsers that try one of them wait or fail",
  });
}

async function tryToConnect(address: string, port: number): Promise<Attempt> {
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
    return fail("dns", `${host} has no address in DNS (${code})`, {
      fix: `create a DNS record for ${host} that points to the load balancer or ingress, or correct the URL`,
    });
  return fail("dns", `${host} could not be resolved (${code})`, {
    fix: "try again, and check that this machine can reach its name server",
  });
}

function connectionFailure({ address, code }: Attempt, port: number): Finding {
  const subject = `port ${port} of ${address}`;
  switch (code) {
    case "ECONNREFUSED":
      return fail("connection", `${subject} refuses connections: nothing listens there`, {
        fix: "check that the proxy is running and listens on this port, and that the URL has the right port",
      });
    case "TIMEOUT":
    case "ETIMEDOUT":
      return fail("connection", `${subject} did not accept a connection within ${CONNECT_TIMEOUT_MS / 1_000} s`, {
        fix: "open the port in firewalls and security groups",
      });
    default:
      return fail("connection", `${subject} does not accept connections (${code})`, {
        fix: `check the network route from this machine to ${address}`,
      });
  }
}

/** Returns a URL's host, without brackets for IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

export function portOf({ port, protocol }: URL): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

/** Returns a system error's code, or TIMEOUT if an AbortSignal ended the operation. */
export function codeOf(error: unknown): string {
  const { name, code } = error as NodeJS.ErrnoException;
  if (name === "AbortError" || name === "TimeoutError") return "TIMEOUT";
  return typeof code === "string" ? code : "UNKNOWN";
}
