import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { trackConnections } from "./connections.plugin.ts";

test("a drain does not treat a connection as idle while a pipelined request is answered", async () => {
  const second = Promise.withResolvers<ServerResponse>();
  const server = createServer((request, response) => {
    if (request.url === "/first") response.end("first");
    else second.resolve(response.writeHead(200));
  });
  const connections = trackConnections(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => void client.destroy());
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: parley.test\r\n\r\n`;
  client.write(get("/first") + get("/second"));
  const [[socket], response] = await Promise.all([accepted, second.promise]);
  // When data arrives at the client, the server has ended the first response.
  await once(client, "data");

  server.close();
  const drained = connections.drain(60_000);
  expect(socket.timeout ?? 0).toBe(0);
  response.end("second");
  client.resume();
  client.end();
  await drained;
});
