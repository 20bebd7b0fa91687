import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { readText, type StreamedResponse } from "./response-body.ts";
import { createStreamingFetch } from "./streaming-fetch.client.ts";

let respond: (response: ServerResponse) => unknown;
let connections = 0;
let agent: Agent;
const server = createServer((_request, response) => void respond(response)).on("connection", () => connections++);

const request = async (signal: AbortSignal | null = null) => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return (await createStreamingFetch(agent)(url, { signal })) as StreamedResponse;
};

beforeAll(() => once(server.listen(0, "127.0.0.1"), "listening"));
beforeEach(() => {
  connections = 0;
  agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
});
afterEach(() => agent.destroy());
afterAll(() => server.close());

test("readText returns the whole text of a body within the limit", async () => {
  respond = (response) => response.end("0123456789");
  expect(await readText((await request()).stream, 100)).toBe("0123456789");
  respond = (response) => response.end();
  expect(await readText((await request()).stream, 100)).toBe("");
});

test("readText returns the beginning of a body above the limit, and closes its connection", async () => {
  let closed: Promise<unknown> | undefined;
  respond = (response) => {
    closed = once(response, "close");
    response.write("0123456789012345678");
  };
  expect(await readText((await request()).stream, 14)).toBe("01234567890123");
  await closed;
});

test("a body that is not read makes its sender wait", async () => {
  let sent = 0;
  respond = (response) => {
    const chunk = Buffer.alloc(64 * 1024);
    const write = () => {
      while (sent < 64 * 1024 * 1024) {
        sent += chunk.length;
        if (!response.write(chunk)) return void response.once("drain", write);
      }
      response.end();
    };
    write();
  };
  const { stream } = await request();
  const before = sent;
  await sleep(200);
  expect(sent - before).toBeLessThan(16 * 1024 * 1024);
  let received = 0;
  for await (const chunk of stream) received += chunk.length;
  expect(received).toBe(64 * 1024 * 1024);
});

test("chunks that arrived before the connection broke are read before the error", async () => {
  respond = (response) => {
    response.write("text", () => response.destroy());
  };
  const { stream } = await request();
  await sleep(50);
  expect(Buffer.from((await stream.next()).value ?? []).toString()).toBe("text");
  await expect(stream.next()).rejects.toThrow("other side closed");
});

test("an abort discards the chunks that were not read, and the next read throws the signal's reason", async () => {
  respond = (response) => response.write("text");
  const controller = new AbortController();
  const { stream } = await request(controller.signal);
  await sleep(50);
  controller.abort(new Error("aborted by the test"));
  await expect(stream.next()).rejects.toThrow("aborted by the test");
});

test("an abort before the response's headers, or before the request, fails the request", async () => {
  respond = () => undefined;
  const controller = new AbortController();
  const requested = request(controller.signal);
  setTimeout(() => controller.abort(new Error("aborted by the test")), 50);
  await expect(requested).rejects.toThrow("aborted by the test");
  await expect(request(AbortSignal.abort(new Error("aborted before")))).rejects.toThrow("aborted before");
});

test("an informational response is skipped", async () => {
  respond = (response) => {
    response.writeEarlyHints({ link: "</style.css>; rel=preload; as=style" });
    response.end("text");
  };
  const response = await request();
  expect([response.status, await readText(response.stream, 100)]).toEqual([200, "text"]);
});

test("draining a body frees its connection for the next request, or closes the connection if the body does not end in time", async () => {
  respond = (response) => {
    response.write("0");
    setTimeout(() => response.end("1"), 20);
  };
  const first = await request();
  await first.stream.drain(1_000);
  await sleep(50);
  await readText((await request()).stream, 100);
  expect(connections).toBe(1);
  let closed: Promise<unknown> | undefined;
  respond = (response) => {
    closed = once(response, "close");
    response.write("0");
  };
  await (await request()).stream.drain(50);
  await closed;
});
