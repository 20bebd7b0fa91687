import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { Agent, buildConnector } from "undici";
import { addressRefused, type EgressPolicy } from "./policy.ts";

/** Resolves a name to all its addresses, like `dns.lookup` with the option `all`. */
export type Resolve = (
  host: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export type GuardedAgentOptions = {
  connectTimeoutMs?: number;
  /** The system's resolver unless set. */
  resolve?: Resolve;
};

/**
 * Returns an undici dispatcher that connects to permitted addresses only. It checks each connection: it resolves the name once, checks the
 * addresses, and connects to one of them. So neither a redirect nor DNS rebinding can bypass the check. A refused connection fails with
 * EgressError, which fetch reports as the `cause` of its TypeError.
 */
export function guardedAgent(policy: EgressPolicy, options: GuardedAgentOptions = {}): Agent {
  const { connectTimeoutMs = 5_000, resolve = systemLookup as Resolve } = options;
  const connect = buildConnector({ timeout: connectTimeoutMs, lookup: guardedLookup(policy, resolve) });
  return new Agent({
    connect(target, callback) {
      // An address in the URL is not looked up, so the lookup below would not check it.
      const host = target.hostname.replace(/^\[|\]$/g, "");
      if (isIP(host) !== 0 && !policy.permits(host)) return callback(addressRefused(host), null);
      connect(target, (error, socket) => {
        if (socket === null || error !== null) return callback(error ?? new Error("no connection"), null);
        const refused = checkPeer(policy, socket, host);
        if (refused === undefined) return callback(null, socket);
        socket.destroy();
        callback(refused, null);
      });
    },
  });
}

/** Checks the address of the finished connection. Returns the error if it is not permitted. */
function checkPeer(policy: EgressPolicy, socket: Socket, host: string): Error | undefined {
  const peer = socket.remoteAddress;
  return peer !== undefined && policy.permits(peer) ? undefined : addressRefused(host);
}

function guardedLookup(policy: EgressPolicy, resolve: Resolve): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, "");
      const permitted = addresses.filter(({ address }) => policy.permits(address));
      const first = permitted[0];
      if (first === undefined) return callback(addressRefused(host), "");
      if (options.all) return callback(null, permitted);
      callback(null, first.address, first.family);
    });
  };
}
