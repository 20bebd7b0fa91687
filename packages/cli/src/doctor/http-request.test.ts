import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { sendRequest } from "./http-request.ts";

test("an HTTP/2 request fails if the server ends the connection without a response", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const request = { method: "GET", path: "/", headers: {}, signal: AbortSignal.timeout(1_000) } as const;
  await expect(sendRequest({ url, http2: true }, request)).rejects.toThrow();
}, 5_000);
