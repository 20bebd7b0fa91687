import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { ProviderFailure } from "../failure.ts";
import { exchange, readAtMost } from "./exchange.ts";
import type { IncomingBody } from "./incoming-body.ts";

let answer: (response: ServerResponse) => void;
let connections = 0;
/** Told of every response whose connection was closed before its end. */
const closed = vi.fn();
const server = createServer((request, response) => {
  request.resume();
  response.on("close", () => {
    if (!response.writableFinished) closed();
  });
  request.on("end", () => answer(response));
});
server.on("connection", () => connections++);
const agent = new Agent();
let origin: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  connections = 0;
  closed.mockReset();
});
afterAll(async () => {
  await agent.close();
  server.closeAllConnections();
  server.close();
});

async function ask(signal?: AbortSignal): Promise<IncomingBody> {
  return (await exchange(agent, { origin, path: "/v1/chat?x=1", headers: [] }, "{}", signal)).body;
}

async function readAll(body: IncomingBody): Promise<string[]> {
  const pieces: string[] = [];
  for (let piece = await body.next(); piece !== undefined; piece = await body.next()) pieces.push(piece.toString());
  return pieces;
}

test("what comes before it is read is not lost, and what one read of the socket brings is one piece", async () => {
  answer = (response) => {
    for (let i = 0; i < 50; i++) response.write(`${i} `);
    response.end("end");
  };
  const body = await ask();
  await sleep(20);
  const pieces = await readAll(body);
  expect(pieces.join("")).toBe(`${Array.from({ length: 50 }, (_, i) => `${i} `).join("")}end`);
  expect(pieces.length).toBeLessThan(10);
});

test("each piece is there when it comes", async () => {
  let next: () => void = () => undefined;
  answer = (response) => {
    response.write("one");
    next = () => {
      response.write("two");
      next = () => response.end();
    };
  };
  const body = await ask();
  expect(String(await body.next())).toBe("one");
  next();
  expect(String(await body.next())).toBe("two");
  next();
  expect(await body.next()).toBeUndefined();
  expect(await body.next()).toBeUndefined();
});

test("a body that nobody reads is not read of its socket without end, and is whole all the same", async () => {
  const bytes = 64 * 1024 * 1024;
  let sent = 0;
  answer = (response) => {
    const write = () => {
      while (sent < bytes) {
        sent += 65_536;
        if (!response.write(Buffer.alloc(65_536, "x"))) return void response.once("drain", write);
      }
      response.end();
    };
    write();
  };
  const body = await ask();
  await sleep(300);
  expect(sent).toBeLessThan(bytes / 2);
  let read = 0;
  for (let piece = await body.next(); piece !== undefined; piece = await body.next()) read += piece.length;
  expect(read).toBe(bytes);
});

test("one that is cut gives what came, then fails as truncated", async () => {
  answer = (response) => {
    response.write("some");
    setTimeout(() => response.destroy(), 20);
  };
  const body = await ask();
  expect(String(await body.next())).toBe("some");
  await expect(body.next()).rejects.toMatchObject({ code: "provider_error", reason: "truncated", retryable: true });
  await expect(body.next()).rejects.toBeInstanceOf(ProviderFailure);
});

test("one that is given up closes its connection and fails", async () => {
  answer = (response) => {
    response.write("some");
  };
  const body = await ask();
  await body.next();
  const next = body.next();
  body.destroy();
  await expect(next).rejects.toBeInstanceOf(ProviderFailure);
  await vi.waitFor(() => expect(closed).toHaveBeenCalled());
});

test("of one that is given up nothing is told that has come already, nor its end", async () => {
  answer = (response) => void response.end("all of it");
  const body = await ask();
  await sleep(30);
  body.destroy();
  await expect(body.next()).rejects.toMatchObject({ reason: "truncated" });
});

test("one that is given up while it is not read any further closes its connection", async () => {
  answer = (response) => {
    const write = () => {
      while (response.write(Buffer.alloc(65_536, "x")));
      response.once("drain", write);
    };
    write();
  };
  const body = await ask();
  await sleep(100);
  body.destroy();
  await expect(body.next()).rejects.toBeInstanceOf(ProviderFailure);
  await vi.waitFor(() => expect(closed).toHaveBeenCalled());
});

test("one that has said all comes to its end also when it was not read any further", async () => {
  answer = (response) => void response.end(Buffer.alloc(1024 * 1024, "x"));
  for (let i = 0; i < 3; i++) {
    const body = await ask();
    await sleep(30);
    body.finish(1_000);
    await sleep(60);
  }
  expect(connections).toBeLessThanOrEqual(1);
});

test("one that has said all leaves its connection to the next call, also when it ends a little later", async () => {
  answer = (response) => {
    response.write("all");
    setTimeout(() => response.end("rest"), 30);
  };
  for (let i = 0; i < 3; i++) {
    const body = await ask();
    expect(String(await body.next())).toBe("all");
    body.finish(1_000);
    await sleep(80);
  }
  expect(connections).toBeLessThanOrEqual(1);
});

test("one that has said all and does not end is given up in time", async () => {
  answer = (response) => {
    response.write("all");
  };
  const body = await ask();
  await body.next();
  body.finish(50);
  await vi.waitFor(() => expect(closed).toHaveBeenCalled());
});

test("a call that is left before its response fails with the signal's reason, and is sent no further", async () => {
  const controller = new AbortController();
  answer = () => controller.abort(new Error("left"));
  await expect(ask(controller.signal)).rejects.toThrow("left");
  await vi.waitFor(() => expect(closed).toHaveBeenCalled());
  await expect(ask(AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
});

test("a response of information is none yet", async () => {
  answer = (response) => {
    response.writeEarlyHints({ link: "</x>; rel=preload" });
    setTimeout(() => response.end("then this"), 10);
  };
  expect(await readAll(await ask())).toEqual(["then this"]);
});

test("a body is read as text up to a bound", async () => {
  answer = (response) => void response.end("0123456789");
  expect(await readAtMost(await ask(), 100)).toBe("0123456789");
  expect(await readAtMost(await ask(), 4)).toBe("0123");
});
