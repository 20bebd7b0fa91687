import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface Ingress {
  readonly url: string;
  /** Forwards all later requests with a new client address, which has its own rate limit. */
  nextVisitor(): void;
  cutConnections(): void;
  close(): Promise<void>;
}

let visitors = 0;

/** Starts a proxy that does not buffer, sends X-Forwarded-For, and disconnects from the edge when the visitor disconnects. */
export async function startIngress(edgeUrl: string): Promise<Ingress> {
  const { hostname, port } = new URL(edgeUrl);
  let address = "";
  // An address in 10.0.0.0/8: 12 bits of the process id, so that test processes do not share addresses, and a 12-bit counter.
  const nextVisitor = () => {
    const number = (process.pid % 4096) * 4096 + ++visitors;
    address = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
  };
  nextVisitor();
  const server = createServer((incoming, outgoing) => {
    const { method = "GET", url = "/", headers } = incoming;
    const upstream = request({
      hostname,
      port,
      method,
      path: url,
      headers: { ...headers, "x-forwarded-for": address },
    });
    upstream.on("response", (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      outgoing.flushHeaders();
      response.on("error", () => outgoing.destroy()).pipe(outgoing);
    });
    upstream.on("error", () => outgoing.destroy());
    outgoing.on("close", () => upstream.destroy());
    incoming.pipe(upstream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    nextVisitor,
    cutConnections: () => server.closeAllConnections(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
