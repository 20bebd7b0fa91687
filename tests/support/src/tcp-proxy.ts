import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { freePort } from "./ports.ts";
import { type DelayFaults, forward } from "./tcp-pump.ts";

/** The faults of all connections. `forward` applies the delays. */
interface Faults extends DelayFaults {
  cutAfterBytes: number;
  corruptAfterBytes: number;
}

const NO_FAULTS: Faults = {
  isStalled: false,
  latencyMs: 0,
  cutAfterBytes: Number.POSITIVE_INFINITY,
  corruptAfterBytes: Number.POSITIVE_INFINITY,
};

export interface TcpProxy {
  port: number;
  /** Bytes forwarded to the target (`up`) and to the clients (`down`). */
  bytes: { up: number; down: number };
  connections(): number;
  /** Closes each current and new connection after `count` more bytes from the target. */
  cutAfterBytes(count: number): void;
  /** Inverts one byte of each current and new connection after `count` more bytes from the target. */
  corruptAfterBytes(count: number): void;
  /** Forwards nothing in either direction. Connections stay open. */
  stall(): void;
  /** Forwards nothing on the connections that are open now. These connections stay open. New connections work. */
  stallOpenConnections(): void;
  /** Delays all data by `ms` in each direction. */
  latency(ms: number): void;
  /** Resets all connections. Accepts new ones. */
  resetAll(): void;
  /** Resets all connections and refuses new ones. */
  drop(): Promise<void>;
  /** Ends all faults, and listens again after `drop`. */
  resume(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts a TCP proxy on 127.0.0.1 that injects network faults.
 * @param targetPort the port of each connection's target, or a function that returns it
 */
export async function startTcpProxy({
  targetPort,
  targetHost = "127.0.0.1",
}: {
  targetPort: number | (() => number);
  targetHost?: string;
}): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  const bytes = { up: 0, down: 0 };
  let faults: Faults = NO_FAULTS;
  const portOfTarget = () => (typeof targetPort === "number" ? targetPort : targetPort());

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const target = connect({ port: portOfTarget(), host: targetHost, allowHalfOpen: true, noDelay: true });
    const pair: Pair = {
      client,
      target,
      isStalled: false,
      bytesUntilCut: faults.cutAfterBytes,
      bytesUntilCorruption: faults.corruptAfterBytes,
    };
    const faultsOfPair = () => (pair.isStalled ? { ...faults, isStalled: true } : faults);
    pairs.add(pair);
    for (const socket of [client, target]) {
      // The close handler below resets both sides after an error.
      socket.on("error", () => undefined);
      socket.once("close", () => {
        if (socket.errored) reset(pair);
        if (client.destroyed && target.destroyed) pairs.delete(pair);
      });
    }
    forward(client, target, {
      faults: faultsOfPair,
      send: (chunk) => {
        bytes.up += chunk.length;
        return target.write(chunk);
      },
    });
    forward(target, client, {
      faults: faultsOfPair,
      send: (chunk) => {
        const forwarded = invertByte(pair, chunk).subarray(0, pair.bytesUntilCut);
        pair.bytesUntilCut -= forwarded.length;
        bytes.down += forwarded.length;
        if (pair.bytesUntilCut > 0) return client.write(forwarded);
        client.end(forwarded, () => client.destroy());
        target.resetAndDestroy();
        return true;
      },
    });
  });
  // Not an ephemeral port, because an outgoing connection could take it between drop and resume.
  const port = await listen(server, await freePort());
  const resetAll = () => {
    for (const pair of pairs) reset(pair);
  };
  const drop = async () => {
    if (!server.listening) return;
    const closed = once(server.close(), "close");
    resetAll();
    await closed;
  };
  return {
    port,
    bytes,
    connections: () => pairs.size,
    cutAfterBytes: (count) => {
      faults = { ...faults, cutAfterBytes: count };
      for (const pair of pairs) pair.bytesUntilCut = count;
    },
    corruptAfterBytes: (count) => {
      faults = { ...faults, corruptAfterBytes: count };
      for (const pair of pairs) pair.bytesUntilCorruption = count;
    },
    stall: () => {
      faults = { ...faults, isStalled: true };
    },
    stallOpenConnections: () => {
      for (const pair of pairs) pair.isStalled = true;
    },
    latency: (ms) => {
      faults = { ...faults, latencyMs: ms };
    },
    resetAll,
    drop,
    resume: async () => {
      faults = NO_FAULTS;
      for (const pair of pairs) {
        pair.isStalled = false;
        pair.bytesUntilCut = pair.bytesUntilCorruption = Number.POSITIVE_INFINITY;
      }
      if (!server.listening) await listen(server, port);
    },
    close: drop,
  };
}

interface Pair {
  client: Socket;
  target: Socket;
  isStalled: boolean;
  bytesUntilCut: number;
  bytesUntilCorruption: number;
}

/** Returns the chunk. If the byte to invert is in it, returns a copy with that byte inverted. */
function invertByte(pair: Pair, chunk: Buffer): Buffer {
  const at = pair.bytesUntilCorruption;
  pair.bytesUntilCorruption = at < chunk.length ? Number.POSITIVE_INFINITY : at - chunk.length;
  if (at >= chunk.length) return chunk;
  const copy = Buffer.from(chunk);
  copy.writeUInt8(copy.readUInt8(at) ^ 0xff, at);
  return copy;
}

function reset({ client, target }: Pair): void {
  client.resetAndDestroy();
  target.resetAndDestroy();
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return address.port;
}
