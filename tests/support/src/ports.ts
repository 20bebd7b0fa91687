import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** The range is below the ephemeral ports, which outgoing connections take, and above 10080, to which browsers and fetch refuse to connect. */
const FIRST_PORT = 10_100;
const LAST_PORT = 32_000;
/** The number of parts of the range. Must exceed the number of Vitest workers, because other processes share part 0. */
const PART_COUNT = 8;

/** Returns this worker's part of the range. The parts do not overlap, so no worker takes another worker's port. */
function portRangeOfWorker(): { from: number; to: number } {
  const size = Math.floor((LAST_PORT - FIRST_PORT) / PART_COUNT);
  const from = FIRST_PORT + (Number(process.env.VITEST_POOL_ID ?? 0) % PART_COUNT) * size;
  return { from, to: from + size };
}

/** Ports chosen earlier. Their users may not have bound them yet. */
const reserved = new Set<number>();

/**
 * Returns `count` consecutive ports that are free on 127.0.0.1. Another process may still take them: bind them soon, and retry on EADDRINUSE
 * if possible.
 */
export async function freePorts(count: number): Promise<number[]> {
  const { from, to } = portRangeOfWorker();
  for (let attempt = 0; attempt < 200; attempt++) {
    // The first half of the attempts uses only ports that were not chosen before.
    if (attempt === 100) reserved.clear();
    const first = randomInt(from, to - count);
    const ports = Array.from({ length: count }, (_, index) => first + index);
    if (ports.some((port) => reserved.has(port))) continue;
    // Reserves before the asynchronous check, so that a concurrent call does not choose the same ports.
    for (const port of ports) reserved.add(port);
    if (await arePortsFree(ports)) return ports;
  }
  throw new Error(`found no ${count} free consecutive ports between ${from} and ${to}`);
}

/** Returns one free port, as freePorts does. */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  if (port === undefined) throw new Error("no free port");
  return port;
}

/** Returns whether all of `ports` are free on 127.0.0.1. */
export async function arePortsFree(ports: readonly number[]): Promise<boolean> {
  const servers: Server[] = [];
  try {
    for (const port of ports) {
      const server = createServer();
      servers.push(server);
      server.listen({ port, host: "127.0.0.1", exclusive: true });
      await once(server, "listening");
    }
    return true;
  } catch {
    return false;
  } finally {
    await Promise.all(servers.filter((server) => server.listening).map((server) => once(server.close(), "close")));
  }
}
