import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "./listen.plugin.ts";

const HOST = "127.0.0.1";
const options = { host: HOST, port: 0, highWaterMark: 16_384 };

async function startServer() {
  const app = fastify();
  app.get("/", async () => "hello");
  const listener = await listen(app, options);
  onTestFinished(() => app.close());
  onTestFinished(() => listener.stop());
  return { app, listener, port: (app.server.address() as AddressInfo).port };
}

/** Makes each iteration of the event loop take 20 ms. Returns a function that counts the iterations. */
function slowDown(): () => number {
  let iterations = 0;
  const timer = setInterval(() => {
    iterations++;
    const startedAt = performance.now();
    while (performance.now() - startedAt < 20);
  }, 1);
  onTestFinished(() => clearInterval(timer));
  return () => iterations;
}

test("a server with a slow event loop accepts many connections per iteration", async () => {
  const { app, port } = await startServer();
  let accepted = 0;
  app.server.on("connection", () => accepted++);
  const countIterations = slowDown();
  const sockets = Array.from({ length: 300 }, () => connect(port, HOST));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await expect.poll(() => accepted).toBe(300);
  expect(countIterations()).toBeLessThan(150);
});

test("every listening socket serves HTTP, and none accepts a connection after stop()", async () => {
  const { listener, port } = await startServer();
  const url = `http://${HOST}:${port}/`;
  const headers = { connection: "close" };
  const texts = await Promise.all(Array.from({ length: 200 }, async () => (await fetch(url, { headers })).text()));
  expect(new Set(texts)).toEqual(new Set(["hello"]));
  listener.stop();
  for (let n = 0; n < 20; n++) {
    const socket: Socket = connect(port, HOST);
    const [error] = await once(socket, "error");
    expect(error).toMatchObject({ code: "ECONNREFUSED" });
  }
});

test("listen rejects with EADDRINUSE when another server, with or without reusePort, listens on the port", async () => {
  const other = createServer().listen(0, HOST);
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  await expect(listen(fastify(), { ...options, port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  const parley = await startServer();
  await expect(listen(fastify(), { ...options, port: parley.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
});

test("with the host localhost, serves HTTP on both loopback addresses and on no other address", async () => {
  const app = fastify();
  app.get("/", async () => "hello");
  const listener = await listen(app, { ...options, host: "localhost" });
  onTestFinished(() => app.close());
  onTestFinished(() => listener.stop());
  const { port } = app.server.address() as AddressInfo;
  for (const host of ["127.0.0.1", "[::1]"])
    expect(await (await fetch(`http://${host}:${port}/`)).text()).toBe("hello");
  const outside = Object.values(networkInterfaces()).flatMap((each) => each?.filter(({ internal }) => !internal) ?? []);
  for (const { address, family } of outside.filter((each) => each.family === "IPv4"))
    await expect(fetch(`http://${address}:${port}/`), family).rejects.toThrow();
  await expect(fetch(`http://127.0.0.2:${port}/`)).rejects.toThrow();
});
