import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it, vi } from "vitest";
import { freePort, freePorts } from "./ports.ts";

it("freePorts returns consecutive free ports below the ephemeral range", async () => {
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

it("freePort returns a port above 10080 and below the ephemeral range", async () => {
  const port = await freePort();
  expect(port).toBeGreaterThan(10_080);
  expect(port).toBeLessThan(32_768);
});

it.each([
  ["lowest", "0"],
  ["highest", "7"],
])(
  "freePorts returns ports above 10080 and below the ephemeral range for the worker with the %s ports",
  async (_, poolId) => {
    vi.stubEnv("VITEST_POOL_ID", poolId);
    try {
      const ports = (await Promise.all(Array.from({ length: 100 }, () => freePorts(3)))).flat();
      // 10080 is the highest port to which browsers and fetch refuse to connect.
      expect(Math.min(...ports)).toBeGreaterThan(10_080);
      expect(Math.max(...ports)).toBeLessThan(32_768);
    } finally {
      vi.unstubAllEnvs();
    }
  },
);

it("freePorts returns no port twice, even if none is bound", async () => {
  const ports = (await Promise.all(Array.from({ length: 300 }, () => freePorts(2)))).flat();
  expect(new Set(ports).size).toBe(600);
});
