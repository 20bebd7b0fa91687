import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** A reverse proxy before the edge, as an installation has one. */
export interface Ingress {
  readonly url: string;
  /** From now on requests come from another address, with an allowance of its own. */
  nextVisitor(): void;
  close(): Promise<void>;
}

let visitors = 0;

/** Starts a proxy that streams, tells the edge the visitor's address, and leaves when the visitor does. */
export async function startIngress(edgeUrl: string): Promise<Ingress> {
  const { hostname, port } = new URL(edgeUrl);
  let address = "";
  const nextVisitor = () => {
    const number = (process.pid % 4096) * 4096 + ++visitors;
    address = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
  };
  nextVisitor();
  const server = createServer((incoming, outgoing) => {
    const { method = "GET", url = "/", headers } = incoming;
    const onward = request({ hostname, port, method, path: url, headers: { ...headers, "x-forwarded-for": address } });
    onward.on("response", (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      outgoing.flushHeaders();
      response.on("error", () => outgoing.destroy()).pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    nextVisitor,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
