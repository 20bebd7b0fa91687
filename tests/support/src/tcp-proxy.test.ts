import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { startTcpProxy } from "./tcp-proxy.ts";

describe("startTcpProxy", () => {
  const closers: Array<() => unknown> = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  /** A proxy before a server that sends back what it gets. */
  async function start() {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.pipe(socket);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    closers.push(() => server.close());
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    const proxy = await startTcpProxy({ targetPort: address.port });
    closers.push(proxy.close);
    return proxy;
  }

  async function dial(port: number) {
    const socket = connect({ port, host: "127.0.0.1" });
    closers.push(() => socket.destroy());
    const received: Buffer[] = [];
    socket.on("data", (chunk) => received.push(chunk));
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return { socket, text: () => Buffer.concat(received).toString(), closed: closing(socket) };
  }

  /** Whether the connection was broken, once it is closed. */
  function closing(socket: Socket): Promise<boolean> {
    return new Promise((resolve) => {
      socket.once("close", resolve);
    });
  }

  async function ask(socket: Socket, text: string): Promise<string> {
    socket.write(text);
    const [answer] = (await once(socket, "data")) as [Buffer];
    return answer.toString();
  }

  it("passes bytes both ways, counts them, and passes on the end", async () => {
    const proxy = await start();
    const { socket, closed } = await dial(proxy.port);
    expect(await ask(socket, "hello")).toBe("hello");
    expect(proxy.bytes).toEqual({ up: 5, down: 5 });
    expect(proxy.connections()).toBe(1);
    socket.end();
    await closed;
    await expect.poll(proxy.connections).toBe(0);
  });

  it("passes on much more than fits in its buffers", async () => {
    const proxy = await start();
    const { socket, text, closed } = await dial(proxy.port);
    socket.end("x".repeat(5_000_000));
    await closed;
    expect(text().length).toBe(5_000_000);
  });

  it("cuts after exactly so many bytes", async () => {
    const proxy = await start();
    proxy.cutAfterBytes(7);
    const { socket, text, closed } = await dial(proxy.port);
    socket.write("0123456789");
    await closed;
    expect(text()).toBe("0123456");
  });

  it("cuts connections that are already open, and spares them after resume", async () => {
    const proxy = await start();
    const [one, two] = [await dial(proxy.port), await dial(proxy.port)];
    proxy.cutAfterBytes(3);
    one.socket.write("12345");
    await one.closed;
    await proxy.resume();
    expect(one.text()).toBe("123");
    expect(await ask(two.socket, "12345")).toBe("12345");
  });

  it("turns over one byte after so many, on each connection", async () => {
    const proxy = await start();
    proxy.corruptAfterBytes(3);
    for (const { socket } of [await dial(proxy.port), await dial(proxy.port)]) {
      expect(await ask(socket, "01")).toBe("01");
      expect(await ask(socket, "2345")).not.toBe("2345");
      expect(await ask(socket, "67")).toBe("67");
    }
  });

  it("stalls without closing, and goes on with what was held back", async () => {
    const proxy = await start();
    const { socket, text } = await dial(proxy.port);
    proxy.stall();
    socket.write("held");
    await sleep(100);
    expect([text(), socket.destroyed]).toEqual(["", false]);
    await proxy.resume();
    await expect.poll(text).toBe("held");
  });

  it("delays each direction", async () => {
    const proxy = await start();
    const { socket } = await dial(proxy.port);
    proxy.latency(60);
    const sentAt = performance.now();
    await ask(socket, "late");
    expect(performance.now() - sentAt).toBeGreaterThanOrEqual(118);
  });

  it("resets the connections it has, and serves new ones", async () => {
    const proxy = await start();
    const { socket, closed } = await dial(proxy.port);
    await ask(socket, "a");
    proxy.resetAll();
    expect(await closed).toBe(true);
    const next = await dial(proxy.port);
    expect(await ask(next.socket, "b")).toBe("b");
  });

  it("refuses connections while dropped, on the same port after resume", async () => {
    const proxy = await start();
    const { closed } = await dial(proxy.port);
    await proxy.drop();
    await closed;
    await expect(dial(proxy.port)).rejects.toThrow("ECONNREFUSED");
    await proxy.resume();
    const { socket } = await dial(proxy.port);
    expect(await ask(socket, "back")).toBe("back");
  });

  it("resets the client when the target is away", async () => {
    const proxy = await startTcpProxy({ targetPort: 1 });
    closers.push(proxy.close);
    const { closed } = await dial(proxy.port);
    expect(await closed).toBe(true);
  });
});
