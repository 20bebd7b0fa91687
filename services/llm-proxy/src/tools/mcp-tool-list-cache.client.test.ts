import { startToolServer } from "@parley/test-support";
import { Agent } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { McpToolListCache } from "./mcp-tool-list-cache.client.ts";

test("a server that does not respond is reported as a timeout", async () => {
  const server = await startToolServer();
  const dispatcher = new Agent();
  onTestFinished(async () => {
    await dispatcher.destroy();
    await server.close();
  });
  server.respondWith(() => ({ hangs: true }));
  const cache = new McpToolListCache({
    dispatcher,
    limits: () => ({ timeoutMs: 300, maxResultBytes: 1_024 }) as never,
  });
  const target = { url: `${server.url}/mcp`, credentials: { headers: {}, redact: (text: string) => text } as never };
  const failures: unknown[] = [];
  const request = { target, onFailure: (error: unknown) => failures.push(error) };
  const list = await cache.list("key", request, new AbortController().signal);
  expect(list).toMatchObject({ tools: [], failure: { status: "timeout" } });
  expect(failures).toEqual([list.failure]);
});
