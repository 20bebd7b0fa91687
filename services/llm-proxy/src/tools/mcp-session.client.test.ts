import { startToolServer } from "@parley/test-support";
import { Agent } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { McpSession } from "./mcp-session.client.ts";

test("tries to connect again after a failed connection attempt", async () => {
  const server = await startToolServer();
  const dispatcher = new Agent();
  onTestFinished(async () => {
    await dispatcher.close();
    await server.close();
  });
  server.respondWith(() => ({ status: 502 }));
  const limits = () => ({ timeoutMs: 2_000, maxResultBytes: 1_024 }) as never;
  const target = { url: `${server.url}/mcp`, credentials: { headers: {}, redact: (text: string) => text } as never };
  const session = new McpSession(target, { dispatcher, limits });
  await expect(session.list(AbortSignal.timeout(2_000))).rejects.toThrow();
  const requests = server.requests.length;
  await expect(session.list(AbortSignal.timeout(2_000))).rejects.toThrow();
  expect(server.requests.length).toBeGreaterThan(requests);
});
