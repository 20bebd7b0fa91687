import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { Agent, buildConnector } from "undici";
import { addressRefused, type EgressPolicy } from "./policy.ts";

/** Resolves a name to all its addresses, as `dns.lookup` does with `all`. */
export type Resolve = (
  host: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export type GuardedAgentOptions = {
  connectTimeoutMs?: number;
  /** The system's resolver unless given. */
  resolve?: Resolve;
};

/**
 * Connections that reach permitted addresses only, for any client that takes an undici dispatcher. The check stands where a connection is
 * made: a name is resolved once, its addresses are checked, and one of those is connected to, so that neither a redirect nor a name
 * that resolves differently the second time gets past it. Fails with EgressError (as the `cause` of a fetch's TypeError).
 */
export function guardedAgent(policy: EgressPolicy, options: GuardedAgentOptions = {}): Agent {
  const { connectTimeoutMs = 5_000, resolve = systemLookup as Resolve } = options;
  const connect = buildConnector({ timeout: connectTimeoutMs, lookup: guardedLookup(policy, resolve) });
  return new Agent({
    connect(target, done) {
      // A host that is an address is never looked up.
      const host = target.hostname.replace(/^\[|\]$/g, "");
      if (isIP(host) !== 0 && !policy.permits(host)) return done(addressRefused(host), null);
      connect(target, (error, socket) => {
        if (socket === null || error !== null) return done(error ?? new Error("no connection"), null);
        const refused = checkPeer(policy, socket, host);
        if (refused === undefined) return done(null, socket);
        socket.destroy();
        done(refused, null);
      });
    },
  });
}

/** The address that was connected to in the end, whoever chose it. */
function checkPeer(policy: EgressPolicy, socket: Socket, host: string): Error | undefined {
  const peer = socket.remoteAddress;
  return peer !== undefined && policy.permits(peer) ? undefined : addressRefused(host);
}

function guardedLookup(policy: EgressPolicy, resolve: Resolve): LookupFunction {
  return (host, options, done) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, "");
      const permitted = addresses.filter(({ address }) => policy.permits(address));
      const first = permitted[0];
      if (first === undefined) return done(addressRefused(host), "");
      if (options.all) return done(null, permitted);
      done(null, first.address, first.family);
    });
  };
}
