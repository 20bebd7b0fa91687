import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { Agent, buildConnector } from "undici";
import { addressRefusedError, type Egress } from "./policy.ts";
import { createTunnelConnector } from "./tunnel.ts";

/** Resolves a name to all its addresses, like `dns.lookup` with the option `all`. */
export type Resolve = (
  host: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export type GuardedAgentOptions = {
  connectTimeoutMs?: number;
  /** Further requests to a host wait for a connection. Default: unlimited. */
  maxConnectionsPerHost?: number;
  /** Default: the system's resolver. */
  resolve?: Resolve;
};

/**
 * Reports a failed connection no sooner than this. Otherwise the time would reveal whether a name has an address that is not permitted, or has
 * no address.
 */
const MIN_FAILURE_MS = 500;

/**
 * Returns an undici dispatcher that connects to permitted addresses only. It checks the addresses of each connection, so neither a redirect
 * nor DNS rebinding can bypass the check. If there is a proxy, connects directly to addresses in EGRESS_ALLOW, and through the proxy to
 * public addresses. If a name has addresses of both kinds, uses only those in EGRESS_ALLOW. If no address is permitted, the connection fails
 * with EgressError, which fetch reports as the `cause` of its TypeError.
 */
export function createGuardedAgent({ policy, proxyUrl }: Egress, options: GuardedAgentOptions = {}): Agent {
  const { connectTimeoutMs = 5_000, maxConnectionsPerHost, resolve = systemLookup as Resolve } = options;
  const limits = maxConnectionsPerHost === undefined ? {} : { connections: maxConnectionsPerHost };
  const isPermitted: AddressCheck = (address) => policy.permits(address);
  if (proxyUrl === undefined) {
    return new Agent({
      ...limits,
      connect: delayFailures(createGuardedConnector(isPermitted, resolve, connectTimeoutMs)),
    });
  }
  const lookup = createGuardedLookup(isPermitted, resolve);
  // EGRESS_ALLOW lists the operator's own networks. The proxy leads to the internet and may have no route to them.
  const isInAllowList: AddressCheck = (address) => policy.isInAllowList(address);
  const connectDirectly = createGuardedConnector(isInAllowList, resolve, connectTimeoutMs);
  const connectThroughProxy = createTunnelConnector(proxyUrl, connectTimeoutMs);
  const connect: buildConnector.connector = (target, callback) => {
    const host = hostOf(target);
    const connectTo = (addresses: readonly string[]) => {
      if (addresses.some(isInAllowList)) return connectDirectly(target, callback);
      connectThroughProxy(target, addresses, callback);
    };
    if (isIP(host) !== 0) {
      if (!isPermitted(host)) return callback(addressRefusedError(host), null);
      return connectTo([host]);
    }
    lookup(host, { all: true }, (error, addresses) => {
      if (error) return callback(error, null);
      connectTo((addresses as LookupAddress[]).map(({ address }) => address));
    });
  };
  return new Agent({ ...limits, connect: delayFailures(connect) });
}

function delayFailures(connect: buildConnector.connector): buildConnector.connector {
  return (target, callback) => {
    const startedAtMs = performance.now();
    connect(target, (...result) => {
      if (result[0] === null) return callback(...result);
      setTimeout(callback, MIN_FAILURE_MS - (performance.now() - startedAtMs), ...result);
    });
  };
}

/** Removes the brackets of an IPv6 address. */
function hostOf({ hostname }: buildConnector.Options): string {
  return hostname.replace(/^\[|\]$/g, "");
}

type AddressCheck = (address: string) => boolean;

function createGuardedConnector(
  isPermitted: AddressCheck,
  resolve: Resolve,
  timeoutMs: number,
): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, lookup: createGuardedLookup(isPermitted, resolve) });
  return (target, callback) => {
    // An address in the URL is not looked up, so the lookup would not check it.
    const host = hostOf(target);
    if (isIP(host) !== 0 && !isPermitted(host)) return callback(addressRefusedError(host), null);
    connect(target, (error, socket) => {
      if (socket === null || error !== null) return callback(error ?? new Error("no connection"), null);
      const refused = checkPeer(isPermitted, socket, host);
      if (refused === undefined) return callback(null, socket);
      socket.destroy();
      callback(refused, null);
    });
  };
}

/** Returns an error if the remote address of an open connection is not permitted. */
function checkPeer(isPermitted: AddressCheck, socket: Socket, host: string): Error | undefined {
  const peer = socket.remoteAddress;
  return peer !== undefined && isPermitted(peer) ? undefined : addressRefusedError(host);
}

function createGuardedLookup(isPermitted: AddressCheck, resolve: Resolve): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, "");
      const permitted = addresses.filter(({ address }) => isPermitted(address));
      const first = permitted[0];
      if (first === undefined) return callback(addressRefusedError(host), "");
      if (options.all) return callback(null, permitted);
      callback(null, first.address, first.family);
    });
  };
}
