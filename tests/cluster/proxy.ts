// Runs in a pod: an HTTP proxy that simulates the internet with two servers of this process. A tunnel to port 443 of any host ends at a TLS
// server, which forwards requests to the model provider at PROVIDER_URL. A tunnel to any other port ends at a website. An HTTP server on
// STATUS_PORT lists the tunnels' targets. CERTIFICATE is the folder with the tls.crt and tls.key of the TLS server.
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream";

const PROXY_PORT = 3128;
const PROVIDER_PORT = 8443;
const WEBSITE_PORT = 8080;
const { PROVIDER_URL = "", CERTIFICATE = "", STATUS_PORT = "" } = process.env;

const targets: string[] = [];

const proxy = createServer((_, response) => response.writeHead(400).end());
proxy.on("connect", ({ url: target = "" }: IncomingMessage, socket: Socket, head: Buffer) => {
  targets.push(target);
  const upstream = connect(target.endsWith(":443") ? PROVIDER_PORT : WEBSITE_PORT, "127.0.0.1", () => {
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    upstream.write(head);
    pipeline(upstream, socket, upstream, () => undefined);
  });
});
proxy.listen(PROXY_PORT);

function forward(received: IncomingMessage, response: ServerResponse): void {
  const { method, headers, url = "/" } = received;
  const sent = request(new URL(url, PROVIDER_URL), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    pipeline(answer, response, () => undefined);
  });
  pipeline(received, sent, (error) => error && response.destroy());
}
const certificate = {
  cert: readFileSync(join(CERTIFICATE, "tls.crt")),
  key: readFileSync(join(CERTIFICATE, "tls.key")),
};
createTlsServer(certificate, forward).listen(PROVIDER_PORT, "127.0.0.1");

const PAGE = "# Opening hours\n\nThe bakery opens at six in the morning.";
createServer((_, response) => response.setHeader("content-type", "text/markdown").end(PAGE)).listen(WEBSITE_PORT);
createServer((_, response) => response.end(JSON.stringify(targets))).listen(Number(STATUS_PORT), "127.0.0.1");
