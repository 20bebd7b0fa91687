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

  async function startEchoProxy() {
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

  async function openConnection(port: number) {
    const socket = connect({ port, host: "127.0.0.1" });
    closers.push(() => socket.destroy());
    const received: Buffer[] = [];
    socket.on("data", (chunk) => received.push(chunk));
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return { socket, text: () => Buffer.concat(received).toString(), closed: waitForClose(socket) };
  }

  function waitForClose(socket: Socket): Promise<{ hadError: boolean }> {
    return new Promise((resolve) => {
      socket.once("close", (hadError) => resolve({ hadError }));
    });
  }

  async function echo(socket: Socket, text: string): Promise<string> {
    socket.write(text);
    const [data] = (await once(socket, "data")) as [Buffer];
    return data.toString();
  }

  it("forwards and counts bytes in both directions, and forwards the end of the connection", async () => {
    const proxy = await startEchoProxy();
    const { socket, closed } = await openConnection(proxy.port);
    expect(await echo(socket, "hello")).toBe("hello");
    expect(proxy.bytes).toEqual({ up: 5, down: 5 });
    expect(proxy.connections()).toBe(1);
    socket.end();
    await closed;
    await expect.poll(proxy.connections, { timeout: 5_000 }).toBe(0);
  });

  it("forwards more data than its buffers hold", async () => {
    const proxy = await startEchoProxy();
    const { socket, text, closed } = await openConnection(proxy.port);
    socket.end("x".repeat(5_000_000));
    await closed;
    expect(text().length).toBe(5_000_000);
  });

  it("closes a connection after exactly the given number of bytes", async () => {
    const proxy = await startEchoProxy();
    proxy.cutAfterBytes(7);
    const { socket, text, closed } = await openConnection(proxy.port);
    socket.write("0123456789");
    await closed;
    expect(text()).toBe("0123456");
  });

  it("cutAfterBytes also applies to connections that were already open, until resume", async () => {
    const proxy = await startEchoProxy();
    const [one, two] = [await openConnection(proxy.port), await openConnection(proxy.port)];
    proxy.cutAfterBytes(3);
    one.socket.write("12345");
    await one.closed;
    await proxy.resume();
    expect(one.text()).toBe("123");
    expect(await echo(two.socket, "12345")).toBe("12345");
  });

  it("inverts one byte on each connection after the given number of bytes", async () => {
    const proxy = await startEchoProxy();
    proxy.corruptAfterBytes(3);
    for (const { socket } of [await openConnection(proxy.port), await openConnection(proxy.port)]) {
      expect(await echo(socket, "01")).toBe("01");
      socket.write("2345");
      const [corrupted] = (await once(socket, "data")) as [Buffer];
      expect([...corrupted]).toEqual([0x32, 0x33 ^ 0xff, 0x34, 0x35]);
      expect(await echo(socket, "67")).toBe("67");
    }
  });

  it("stalls without closing, and forwards the held data after resume", async () => {
    const proxy = await startEchoProxy();
    const { socket, text } = await openConnection(proxy.port);
    proxy.stall();
    socket.write("held");
    await sleep(100);
    expect([text(), socket.destroyed]).toEqual(["", false]);
    await proxy.resume();
    await expect.poll(text, { timeout: 5_000 }).toBe("held");
  });

  it("stalls the open connections and serves new ones", async () => {
    const proxy = await startEchoProxy();
    const { socket, text } = await openConnection(proxy.port);
    expect(await echo(socket, "a")).toBe("a");
    proxy.stallOpenConnections();
    socket.write("b");
    const next = await openConnection(proxy.port);
    expect(await echo(next.socket, "c")).toBe("c");
    expect([text(), socket.destroyed]).toEqual(["a", false]);
    await proxy.resume();
    await expect.poll(text, { timeout: 5_000 }).toBe("ab");
  });

  it("delays each direction", async () => {
    const proxy = await startEchoProxy();
    const { socket } = await openConnection(proxy.port);
    proxy.latency(60);
    const sentAt = performance.now();
    await echo(socket, "late");
    expect(performance.now() - sentAt).toBeGreaterThanOrEqual(120);
  });

  it("resets open connections, and accepts new ones", async () => {
    const proxy = await startEchoProxy();
    const { socket, closed } = await openConnection(proxy.port);
    await echo(socket, "a");
    proxy.resetAll();
    expect(await closed).toEqual({ hadError: true });
    const next = await openConnection(proxy.port);
    expect(await echo(next.socket, "b")).toBe("b");
  });

  it("refuses connections after drop, and accepts them on the same port after resume", async () => {
    const proxy = await startEchoProxy();
    const { closed } = await openConnection(proxy.port);
    await proxy.drop();
    await closed;
    await expect(openConnection(proxy.port)).rejects.toThrow("ECONNREFUSED");
    await proxy.resume();
    const { socket } = await openConnection(proxy.port);
    expect(await echo(socket, "back")).toBe("back");
  });

  it("resets the client's connection when the target refuses connections", async () => {
    const proxy = await startTcpProxy({ targetPort: 1 });
    closers.push(proxy.close);
    const { closed } = await openConnection(proxy.port);
    expect(await closed).toEqual({ hadError: true });
  });
});
