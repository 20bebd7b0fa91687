import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Below the range that systems take outgoing connections' ports from, so that none of those takes one of ours. */
const firstPort = 10_000;
const lastPort = 32_000;

/**
 * `count` consecutive ports that were free on 127.0.0.1 a moment ago, at a random place so that test files running
 * side by side rarely meet. Bind them soon; a starter that can should try again on EADDRINUSE.
 */
export async function freePorts(count: number): Promise<number[]> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const first = randomInt(firstPort, lastPort - count);
    const ports = Array.from({ length: count }, (_, index) => first + index);
    if (await areFree(ports)) return ports;
  }
  throw new Error(`found no ${count} free consecutive ports between ${firstPort} and ${lastPort}`);
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
