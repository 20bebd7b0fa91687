import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { collectSse, fetchAndKeep, readSse } from "./sse.ts";

function createResponse(
  chunks: Uint8Array[],
  { onCancel, isOpen = false }: { onCancel?: () => void; isOpen?: boolean } = {},
) {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      if (!isOpen) controller.close();
    },
    cancel: () => onCancel?.(),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const bytes = (text: string) => new TextEncoder().encode(text);

it("readSse yields events and comments from one-byte chunks", async () => {
  const wire = bytes('event: meta\ndata: {"n":1}\n\n: still here\n\nevent: token\ndata: {"text":"ü👋"}\n\n');
  const items: unknown[] = [];
  const everyByte = Array.from(wire, (byte) => Uint8Array.of(byte));
  for await (const { receivedAtMs, ...item } of readSse(createResponse(everyByte))) {
    expect(receivedAtMs).toBeGreaterThan(0);
    items.push(item);
  }
  expect(items).toEqual([
    { event: "meta", data: { n: 1 } },
    { comment: "still here" },
    { event: "token", data: { text: "ü👋" } },
  ]);
});

it("collectSse returns the events without the comments", async () => {
  const events = await collectSse(createResponse([bytes(": hi\n\nevent: a\ndata: 1\n\n")]));
  expect(events.map(({ event, data }) => [event, data])).toEqual([["a", 1]]);
});

it.each([
  ["no space after the colon", "event:a\ndata: 1\n\n", "not an event"],
  ["data without an event", "data: 1\n\n", "not an event"],
  ["an event without data", "event: a\n\n", "not an event"],
  ["two data lines", "event: a\ndata: 1\ndata: 2\n\n", "not an event"],
  ["the wrong order", "data: 1\nevent: a\n\n", "not an event"],
  ["a carriage return", "event: a\ndata: 1\r\n\n", "a carriage return"],
  ["an extra empty line", "event: a\ndata: 1\n\n\n", "the stream was cut off"],
  ["data that is not JSON", "event: a\ndata: hello\n\n", "not valid JSON"],
  ["an end within an event", "event: a\ndata: 1\n", "the stream was cut off"],
])("collectSse throws on %s", async (_, wire, message) => {
  await expect(collectSse(createResponse([bytes(wire)]))).rejects.toThrow(message);
});

it("collectSse throws on bytes that are not UTF-8", async () => {
  const wire = Buffer.from('event: a\ndata: "\xff"\n\n', "latin1");
  await expect(collectSse(createResponse([wire]))).rejects.toThrow("not valid for encoding utf-8");
});

it("collectSse throws on a response that is not an event stream", async () => {
  await expect(collectSse(Response.json({}))).rejects.toThrow("not an event stream");
});

it("readSse closes the connection when the caller leaves the loop", async () => {
  let isClosed = false;
  const response = createResponse([bytes("event: a\ndata: 1\n\n")], {
    isOpen: true,
    onCancel: () => {
      isClosed = true;
    },
  });
  for await (const _ of readSse(response)) break;
  expect(isClosed).toBe(true);
});

it("collectSse throws an AbortError if its signal has aborted before the call", async () => {
  const reading = collectSse(createResponse([], { isOpen: true }), { signal: AbortSignal.abort() });
  await expect(reading).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
});

it("collectSse throws an AbortError when its signal aborts", async () => {
  const abort = new AbortController();
  const reading = collectSse(createResponse([], { isOpen: true }), { signal: abort.signal });
  abort.abort();
  await expect(reading).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
});

it("fetchAndKeep keeps an unread stream open during a garbage collection, until its signal aborts", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  let open = 0;
  const server = createServer((_, response) => {
    open++;
    response.on("close", () => open--).write(": open\n\n");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const leave = new AbortController();
  await Promise.all(Array.from({ length: 20 }, async () => void (await fetchAndKeep(url, { signal: leave.signal }))));
  await sleep(0);
  collectGarbage();
  await sleep(200);
  expect(open).toBe(20);
  leave.abort();
  await expect.poll(() => open).toBe(0);
  server.close();
});
