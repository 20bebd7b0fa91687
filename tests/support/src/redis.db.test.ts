import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { afterEach, expect, it } from "vitest";
import { describeWith } from "./describe-with.ts";
import { startRedis, type TestRedis } from "./redis.ts";

describeWith("redis-server", "startRedis", () => {
  const closers: Array<() => unknown> = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function start(port?: number) {
    const server = await startRedis(port === undefined ? {} : { port });
    closers.push(server.stop);
    return { server, client: connect(server) };
  }

  function connect(server: TestRedis) {
    const client = new Redis(server.url, { retryStrategy: null, enableOfflineQueue: true });
    client.on("error", () => undefined);
    closers.push(() => client.disconnect());
    return client;
  }

  it("starts a separate server for each caller", async () => {
    const [one, two] = await Promise.all([start(), start()]);
    await one.client.set("k", "v");
    expect(await two.client.get("k")).toBeNull();
  });

  it("does not respond while paused, continues when resumed, and stops even when paused", async () => {
    const { server, client } = await start();
    await client.set("k", "v");
    server.pause();
    const value = client.get("k");
    expect(await Promise.race([value, sleep(200, "no response")])).toBe("no response");
    server.resume();
    expect(await value).toBe("v");
    server.pause();
    await server.stop();
  });

  it("refuses connections when killed, and can be started again on the same port", async () => {
    const { server, client } = await start();
    await client.ping();
    await server.kill();
    await expect(connect(server).ping()).rejects.toThrow();
    const again = await start(Number(new URL(server.url).port));
    expect(await again.client.ping()).toBe("PONG");
  });
});
