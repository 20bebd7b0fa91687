import { type AddressInfo, createServer, type ListenOptions, Server as NetServer, type Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/**
 * Node accepts one connection per listening socket in each iteration of the event loop. With one socket, an edge whose iterations take 50 ms
 * would accept only 20 connections a second, and new clients would time out in the kernel's queue.
 */
const SOCKET_COUNT = 64;

/** Whether several sockets can listen on one port. */
const CAN_SHARE_PORT = process.platform === "linux";

export type Listener = {
  /** Stops listening. Open connections stay open. */
  stop(): void;
};

/** `localhost` is both loopback addresses, whatever the system resolves the name to. */
const HOSTS_BY_NAME: Readonly<Record<string, readonly [string, ...string[]]>> = { localhost: ["127.0.0.1", "::1"] };
/** The errors of an address that the machine does not have. */
const ABSENT_ADDRESS_ERRORS = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT"]);

/**
 * Listens on several sockets of one port; with the host `localhost`, on both loopback addresses that the machine has. Rejects with EADDRINUSE if
 * another process listens there.
 * @param highWaterMark how many bytes Node buffers for a slow client; must equal the HTTP server's value
 */
export async function listen(
  app: FastifyInstance,
  { host, port, highWaterMark }: { host: string; port: number; highWaterMark: number },
): Promise<Listener> {
  if (!CAN_SHARE_PORT) {
    await app.listen({ host, port });
    return listenerOf(app, []);
  }
  const [first, ...more] = HOSTS_BY_NAME[host] ?? [host];
  await ensureFree(first, port);
  // Node's HTTP server sets the same allowHalfOpen and noDelay for the connections that it accepts itself.
  const connectionOptions = { allowHalfOpen: true, noDelay: true, highWaterMark };
  const options = { host: first, port, reusePort: true };
  await app.listen(options);
  const { port: assignedPort } = app.server.address() as AddressInfo;
  const openSocket = async (address: string) => {
    const server = createServer(connectionOptions);
    server.on("connection", (socket: Socket) => app.server.emit("connection", socket));
    await listenOn(server, { ...options, host: address, port: assignedPort });
    return server;
  };
  const others = await Promise.all(Array.from({ length: SOCKET_COUNT - 1 }, () => openSocket(first)));
  for (const address of more) {
    await ensureFree(address, assignedPort)
      .then(async () => others.push(await openSocket(address)))
      .catch((error: NodeJS.ErrnoException) => {
        if (!ABSENT_ADDRESS_ERRORS.has(error.code ?? "")) throw error;
      });
  }
  return listenerOf(app, others);
}

function listenerOf(app: FastifyInstance, others: readonly NetServer[]): Listener {
  return {
    stop() {
      // http.Server's own close() would also destroy the idle connections.
      for (const server of [app.server, ...others]) NetServer.prototype.close.call(server);
    },
  };
}

/** Throws EADDRINUSE if the port is in use. Without this check, two edges could share a port, and each would get half of the connections. */
async function ensureFree(host: string, port: number): Promise<void> {
  const server = createServer();
  await listenOn(server, { host, port });
  await new Promise((resolve) => server.close(resolve));
}

function listenOn(server: NetServer, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(options, resolve);
  });
}
