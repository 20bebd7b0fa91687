import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Below the range that systems take outgoing connections' ports from, so that none of those takes one of ours. */
const firstPort = 10_000;
const lastPort = 32_000;
/** Vitest's workers, by their number, and whatever is no worker of it. */
const SHARES = 8;

/** A part of the range for each worker, so that none takes ports that another's file has put by, or has just given up. */
function share(): { from: number; to: number } {
  const size = Math.floor((lastPort - firstPort) / SHARES);
  const from = firstPort + (Number(process.env.VITEST_POOL_ID ?? 0) % SHARES) * size;
  return { from, to: from + size };
}

/** To whoever may not have bound them yet. */
const given = new Set<number>();

/**
 * `count` consecutive ports that were free on 127.0.0.1 a moment ago, at a random place of this worker's share, and none that was
 * given before as long as others are found. Bind them soon; a starter that can should try again on EADDRINUSE.
 */
export async function freePorts(count: number): Promise<number[]> {
  const { from, to } = share();
  for (let attempt = 0; attempt < 200; attempt++) {
    if (attempt === 100) given.clear();
    const first = randomInt(from, to - count);
    const ports = Array.from({ length: count }, (_, index) => first + index);
    if (ports.some((port) => given.has(port))) continue;
    // Before they are looked at, which takes a moment in which others ask.
    for (const port of ports) given.add(port);
    if (await areFree(ports)) return ports;
  }
  throw new Error(`found no ${count} free consecutive ports between ${from} and ${to}`);
}

/** One port, as freePorts. */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  if (port === undefined) throw new Error("no free port");
  return port;
}

async function areFree(ports: number[]): Promise<boolean> {
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
