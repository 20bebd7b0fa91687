import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { streamTurn } from "./stream-turn.ts";

let server: Server;
let responses: ServerResponse[];
let events: string[];

beforeEach(async () => {
  responses = [];
  events = [];
  server = createServer((_, response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
    responses.push(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.stubGlobal("navigator", { onLine: true });
});

afterEach(async () => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

/** Starts a turn and waits until the server has received its request. */
async function start(signal = new AbortController().signal) {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const turn = streamTurn({ url, body: {}, signal, onEvent: (name) => events.push(name) });
  const outcome = turn.then(
    () => "done",
    (error: Error) => error.message,
  );
  await vi.waitFor(() => expect(responses).toHaveLength(1));
  return { outcome, response: responses[0] as ServerResponse };
}

/** Writes an event of this name and waits until the turn has received it. */
async function writeEvent(response: ServerResponse, name: string) {
  response.write(`: heartbeat\n\nevent: ${name}\ndata: {}\n\n`);
  await vi.waitFor(() => expect(events.at(-1)).toBe(name));
}

describe("streamTurn", () => {
  it("fails with network after 45 s of silence, but not while data arrives", async () => {
    const { outcome, response } = await start();
    for (let count = 0; count < 5; count++) {
      await vi.advanceTimersByTimeAsync(30_000);
      await writeEvent(response, `event${count}`);
    }
    await vi.advanceTimersByTimeAsync(45_000);
    const closed = once(response, "close");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await outcome).toBe("network");
    await closed;
  });

  it("ends at the done event and closes the connection 2 s later", async () => {
    const { outcome, response } = await start();
    response.write("event: done\ndata: {}\n\n");
    expect(await outcome).toBe("done");
    expect(events).toEqual(["done"]);
    const closed = once(response, "close");
    await vi.advanceTimersByTimeAsync(2_000);
    await closed;
  });

  it("fails with interrupted when the stream ends without done", async () => {
    const { outcome, response } = await start();
    response.end("event: token\ndata: {}\n\n");
    expect(await outcome).toBe("interrupted");
  });

  it("throws the signal's reason and closes the connection when it is aborted", async () => {
    const stop = new AbortController();
    const { outcome, response } = await start(stop.signal);
    const closed = once(response, "close");
    stop.abort(new Error("enough"));
    expect(await outcome).toBe("enough");
    await closed;
  });

  it("fails with network and closes the connection when an event is not JSON", async () => {
    const { outcome, response } = await start();
    response.write("event: token\ndata: {not json\n\n");
    const closed = once(response, "close");
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(300);
      expect(await Promise.race([outcome, "pending"])).toBe("network");
    });
    await closed;
  });
});
