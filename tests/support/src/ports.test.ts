import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { freePort, freePorts } from "./ports.ts";

it("returns consecutive free ports below the ephemeral range", async () => {
  const ports = await freePorts(4);
  expect(ports).toHaveLength(4);
  expect(ports.map((port) => port - (ports[0] ?? 0))).toEqual([0, 1, 2, 3]);
  expect(Math.max(...ports)).toBeLessThan(32_768);
  for (const port of ports) {
    const server = createServer().listen(port, "127.0.0.1");
    await once(server, "listening");
    server.close();
  }
});

it("returns one port as a number", async () => {
  expect(await freePort()).toBeGreaterThanOrEqual(10_000);
});

it("returns no port twice, even if none is bound", async () => {
  const ports = (await Promise.all(Array.from({ length: 300 }, () => freePorts(2)))).flat();
  expect(new Set(ports).size).toBe(600);
});
