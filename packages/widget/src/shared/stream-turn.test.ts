import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { streamTurn } from "./stream-turn.ts";

let server: Server;
let answers: ServerResponse[];
let events: string[];

beforeEach(async () => {
  answers = [];
  events = [];
  server = createServer((_, response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
    answers.push(response);
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

/** Starts a turn, and waits until the service has been asked. */
async function start(signal = new AbortController().signal) {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const turn = streamTurn({ url, body: {}, signal, onEvent: (name) => events.push(name) });
  const outcome = turn.then(
    () => "done",
    (error: Error) => error.message,
  );
  await vi.waitFor(() => expect(answers).toHaveLength(1));
  return { outcome, answer: answers[0] as ServerResponse };
}

/** Writes, and waits until it was read. */
async function write(answer: ServerResponse, text: string, name: string) {
  answer.write(text);
  await vi.waitFor(() => expect(events.at(-1)).toBe(name));
}

describe("a turn", () => {
  it("is over after 45 s without a sign of life, and not while heartbeats come", async () => {
    const { outcome, answer } = await start();
    for (let beats = 0; beats < 5; beats++) {
      await vi.advanceTimersByTimeAsync(30_000);
      await write(answer, `: still here\n\nevent: beat${beats}\ndata: {}\n\n`, `beat${beats}`);
    }
    await vi.advanceTimersByTimeAsync(45_000);
    const gone = once(answer, "close");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await outcome).toBe("network");
    await gone;
  });

  it("ends with its done event, whatever the connection does then", async () => {
    const { outcome, answer } = await start();
    answer.write("event: done\ndata: {}\n\n");
    expect(await outcome).toBe("done");
    expect(events).toEqual(["done"]);
    const gone = once(answer, "close");
    await vi.advanceTimersByTimeAsync(2_000);
    await gone;
  });

  it("is interrupted when the stream ends without one", async () => {
    const { outcome, answer } = await start();
    answer.end("event: token\ndata: {}\n\n");
    expect(await outcome).toBe("interrupted");
  });

  it("ends with the reason of whoever stopped it, and closes the connection", async () => {
    const stop = new AbortController();
    const { outcome, answer } = await start(stop.signal);
    const gone = once(answer, "close");
    stop.abort(new Error("enough"));
    expect(await outcome).toBe("enough");
    await gone;
  });

  it("is lost when it is not one that can be read", async () => {
    const { outcome, answer } = await start();
    answer.write("event: token\ndata: {not json\n\n");
    const gone = once(answer, "close");
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(300);
      expect(await Promise.race([outcome, "pending"])).toBe("network");
    });
    await gone;
  });
});
