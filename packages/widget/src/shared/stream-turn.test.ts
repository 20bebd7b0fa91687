import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { streamTurn } from "./stream-turn.ts";

let server: Server;
let requests: IncomingMessage[];
let responses: ServerResponse[];
let events: string[];
/** The statuses of the next responses; 200 after them. */
let statuses: number[];

beforeEach(async () => {
  requests = [];
  responses = [];
  events = [];
  statuses = [];
  server = createServer((request, response) => {
    requests.push(request);
    responses.push(response);
    const status = statuses.shift() ?? 200;
    if (status === 200) response.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
    else response.writeHead(status).end(JSON.stringify({ error: "invalid_last_event_id" }));
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

/** Starts a turn and waits for its first request. */
async function start(signal = new AbortController().signal) {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const turn = streamTurn({ url, body: {}, key: "key-1", signal, onEvent: (name) => events.push(name) });
  const outcome = turn.then(
    () => "done",
    (error: Error) => error.message,
  );
  return { outcome, response: await waitForResponse(1) };
}

/** Waits until the server has received `number` requests, and returns its last response. Advances the timers past the delays between requests. */
async function waitForResponse(number: number): Promise<ServerResponse> {
  await vi.waitFor(async () => {
    await vi.advanceTimersByTimeAsync(number === 1 ? 0 : 4_000);
    expect(responses).toHaveLength(number);
  }, 5_000);
  return responses[number - 1] as ServerResponse;
}

async function writeEvent(response: ServerResponse, name: string, id = "") {
  const count = events.length;
  response.write(`: heartbeat\n\n${id && `id: ${id}\n`}event: ${name}\ndata: {}\n\n`);
  await vi.waitFor(() => expect(events).toHaveLength(count + 1), 5_000);
}

describe("streamTurn", () => {
  it("reconnects after 45 s without data, but not while data arrives", async () => {
    const { response } = await start();
    for (let count = 0; count < 5; count++) {
      await vi.advanceTimersByTimeAsync(30_000);
      await writeEvent(response, `event${count}`);
    }
    const closed = once(response, "close");
    await vi.advanceTimersByTimeAsync(45_000);
    await closed;
    await waitForResponse(2);
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

  it("after a lost connection, sends the same key and continues from the last event", async () => {
    const { outcome, response } = await start();
    await writeEvent(response, "meta", "7-0");
    await writeEvent(response, "token", "7-5");
    response.destroy();
    const second = await waitForResponse(2);
    // Every response begins with meta. When streamTurn continues a reply, it does not report meta again.
    second.write("id: 7-5\nevent: meta\ndata: {}\n\n");
    await writeEvent(second, "token", "7-9");
    second.end("id: 7-9\nevent: done\ndata: {}\n\n");
    expect(await outcome).toBe("done");
    expect(events).toEqual(["meta", "token", "token", "done"]);
    expect(requests.map(({ headers }) => [headers["idempotency-key"], headers["last-event-id"]])).toEqual([
      ["key-1", undefined],
      ["key-1", "7-5"],
    ]);
  });

  it("starts the reply again from its first event if the service refuses the last event's id", async () => {
    const { outcome, response } = await start();
    await writeEvent(response, "meta", "7-0");
    statuses = [400];
    response.destroy();
    const third = await waitForResponse(3);
    await writeEvent(third, "meta", "7-0");
    third.end("event: done\ndata: {}\n\n");
    expect(await outcome).toBe("done");
    expect(events).toEqual(["meta", "meta", "done"]);
    expect(requests.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "7-0", undefined]);
  });

  it("fails if the service returns invalid_last_event_id for a request without the last event's id", async () => {
    const { outcome, response } = await start();
    await writeEvent(response, "meta", "7-0");
    statuses = [400, 400];
    response.destroy();
    await waitForResponse(3);
    expect(await outcome).toBe("invalid_last_event_id");
    expect(requests.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "7-0", undefined]);
  }, 5_000);

  it.each([
    ["interrupted", "when the streams end without done", "event: meta\ndata: {}\n\n"],
    ["network", "when an event is not JSON", "event: token\ndata: {not json\n\n"],
  ])("fails with %s after seven requests, %s", async (code, _, body) => {
    const { outcome } = await start();
    for (let count = 1; count <= 7; count++) (await waitForResponse(count)).end(body);
    expect(await outcome).toBe(code);
  });

  it('fails with the code "offline" and sends no other request when the browser is offline', async () => {
    const { outcome, response } = await start();
    vi.stubGlobal("navigator", { onLine: false });
    response.destroy();
    expect(await outcome).toBe("offline");
    expect(requests).toHaveLength(1);
  });

  it("throws the signal's reason and closes the connection when the signal is aborted", async () => {
    const stop = new AbortController();
    const { outcome, response } = await start(stop.signal);
    const closed = once(response, "close");
    stop.abort(new Error("enough"));
    expect(await outcome).toBe("enough");
    await closed;
  });

  it("throws the signal's reason at once when the signal is aborted between two requests", async () => {
    const stop = new AbortController();
    const { outcome, response } = await start(stop.signal);
    response.destroy();
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1), 5_000);
    stop.abort(new Error("enough"));
    expect(await outcome).toBe("enough");
    expect(requests).toHaveLength(1);
  });
});
