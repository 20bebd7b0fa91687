import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";

export interface ConnectProxy {
  url: string;
  port: number;
  /** Each CONNECT request's authority, in order. */
  authorities: string[];
  /** The Proxy-Authorization header of each request; undefined if it had none. */
  credentials: (string | undefined)[];
  /** Sets the function that returns the response status for an authority. If it returns undefined, the proxy never responds. */
  respondWith(choose: (authority: string) => number | undefined): void;
  close(): Promise<void>;
}

/**
 * Starts an HTTP proxy on 127.0.0.1 that opens tunnels (CONNECT) only. Each tunnel leads to the requested port on 127.0.0.1, whatever the
 * requested host is. So a test can use the name or the address of a public host.
 * @param tls the certificate with which the proxy serves https; without it the proxy serves http
 */
export async function startConnectProxy(tls?: { cert: string | Buffer; key: string | Buffer }): Promise<ConnectProxy> {
  const authorities: string[] = [];
  const credentials: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  let choose: (authority: string) => number | undefined = () => 200;
  const proxy = tls === undefined ? createServer() : createTlsServer(tls);
  proxy.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  proxy.on("request", (_, response) => response.writeHead(400).end());
  proxy.on("connect", ({ url = "", headers }: IncomingMessage, socket: Socket, head: Buffer) => {
    authorities.push(url);
    credentials.push(headers["proxy-authorization"]);
    socket.on("error", () => undefined);
    const status = choose(url);
    if (status === undefined) return;
    if (status !== 200) {
      socket.end(`HTTP/1.1 ${status} Refused\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const target = connect(Number(url.slice(url.lastIndexOf(":") + 1)), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      target.write(head);
      target.pipe(socket).pipe(target);
    });
    target.on("error", () => socket.destroy());
    socket.once("close", () => target.destroy());
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as AddressInfo;
  return {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    port,
    authorities,
    credentials,
    respondWith: (next) => {
      choose = next;
    },
    close: async () => {
      const closed = once(proxy.close(), "close");
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
