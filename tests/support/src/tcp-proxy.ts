import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { type Faults, noFaults, pump } from "./tcp-pump.ts";

export interface TcpProxy {
  port: number;
  /** Bytes passed on so far: to the target (`up`) and back to the clients (`down`). */
  bytes: { up: number; down: number };
  /** Connections that are open now. */
  connections(): number;
  /** Ends every connection as soon as `count` more bytes have come back down on it. */
  cutAfterBytes(count: number): void;
  /** Turns one byte of every connection over once `count` more bytes have come back down on it. */
  corruptAfterBytes(count: number): void;
  /** Passes nothing on, in either direction, while connections stay open. */
  stall(): void;
  /** Delays every byte by so many milliseconds, in each direction. */
  latency(ms: number): void;
  /** Resets all connections; new ones are served. */
  resetAll(): void;
  /** Resets all connections and refuses new ones. */
  drop(): Promise<void>;
  /** Takes back stall, latency, cutAfterBytes, corruptAfterBytes and drop. */
  resume(): Promise<void>;
  close(): Promise<void>;
}

/** A TCP proxy on 127.0.0.1 that does to its connections what networks do. */
export async function startTcpProxy({
  targetPort,
  targetHost = "127.0.0.1",
}: {
  targetPort: number;
  targetHost?: string;
}): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  const bytes = { up: 0, down: 0 };
  let faults: Faults = noFaults;

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const target = connect({ port: targetPort, host: targetHost, allowHalfOpen: true, noDelay: true });
    const pair: Pair = { client, target, downLimit: faults.cutAfterBytes, goodBytes: faults.corruptAfterBytes };
    pairs.add(pair);
    for (const socket of [client, target]) {
      // A side that fails takes the other with it, below.
      socket.on("error", () => undefined);
      socket.once("close", () => {
        if (socket.errored) reset(pair);
        if (client.destroyed && target.destroyed) pairs.delete(pair);
      });
    }
    pump(client, target, {
      faults: () => faults,
      send: (chunk) => {
        bytes.up += chunk.length;
        return target.write(chunk);
      },
    });
    pump(target, client, {
      faults: () => faults,
      send: (chunk) => {
        const passed = corrupt(pair, chunk).subarray(0, pair.downLimit);
        pair.downLimit -= passed.length;
        bytes.down += passed.length;
        if (pair.downLimit > 0) return client.write(passed);
        client.end(passed, () => client.destroy());
        target.resetAndDestroy();
        return true;
      },
    });
  });
  const port = await listen(server, 0);
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
      for (const pair of pairs) pair.downLimit = count;
    },
    corruptAfterBytes: (count) => {
      faults = { ...faults, corruptAfterBytes: count };
      for (const pair of pairs) pair.goodBytes = count;
    },
    stall: () => {
      faults = { ...faults, isStalled: true };
    },
    latency: (ms) => {
      faults = { ...faults, latencyMs: ms };
    },
    resetAll,
    drop,
    resume: async () => {
      faults = noFaults;
      for (const pair of pairs) pair.downLimit = pair.goodBytes = Number.POSITIVE_INFINITY;
      if (!server.listening) await listen(server, port);
    },
    close: drop,
  };
}

interface Pair {
  client: Socket;
  target: Socket;
  /** Bytes that may still come back down before the connection is reset. */
  downLimit: number;
  /** Bytes that may still come back down before one is turned over. */
  goodBytes: number;
}

function corrupt(pair: Pair, chunk: Buffer): Buffer {
  const at = pair.goodBytes;
  pair.goodBytes = at < chunk.length ? Number.POSITIVE_INFINITY : at - chunk.length;
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
