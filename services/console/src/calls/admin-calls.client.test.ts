import { readFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { MAX_UPLOAD_WAIT_MS } from "@parley/service-kit";
import { expect, onTestFinished, test } from "vitest";
import { type AdminCall, CALL_TIMEOUTS_MS, createAdminCalls } from "./admin-calls.client.ts";

const TEST_TIMEOUTS_MS = { call: 200, slowCall: 20_000, stream: 20_000 };
const BOTS = "parley.conversation.v1.BotAdminService/ListBots";
const ADD_SOURCE = "parley.conversation.v1.KnowledgeAdminService/AddSource";
const ERASE_SESSION = "parley.conversation.v1.SessionAdminService/EraseSession";

/** Starts an admin service. Returns a function that calls its methods, and the responses that the client has counted. */
async function startService(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const counted: [string, number][] = [];
  const onResponse = (method: string, status: number) => counted.push([method, status]);
  const { call } = createAdminCalls({ conversation: url, quota: url }, onResponse, TEST_TIMEOUTS_MS);
  const callMethod = (method: string) => {
    const { signal } = new AbortController();
    const contentType = "application/json";
    const request: AdminCall = {
      service: "conversation",
      method,
      contentType,
      body: Buffer.from("{}"),
      authorization: "",
      signal,
    };
    return call(request);
  };
  return { callMethod, counted };
}

test("counts a call once, as 503, if the connection breaks during the response", async () => {
  const { callMethod, counted } = await startService((_, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("{", () => response.destroy());
  });
  expect(await callMethod(BOTS)).toMatchObject({ status: 503, code: "unavailable" });
  expect(counted).toEqual([[BOTS, 503]]);
});

test.each([ADD_SOURCE, ERASE_SESSION])("waits longer for %s than for other calls", async (method) => {
  const { callMethod, counted } = await startService(({ url }, response) => {
    if (url === `/${method}`) setTimeout(() => response.end("{}"), 3 * TEST_TIMEOUTS_MS.call);
  });
  await Promise.all([callMethod(BOTS), callMethod(method)]);
  expect(counted).toEqual([
    [BOTS, 503],
    [method, 200],
  ]);
});

test("the proxy timeout in the ingress guide is longer than the longest wait for other uploads plus the timeout of a slow call", async () => {
  const guide = await readFile(new URL("../../../../docs/install/ingress.md", import.meta.url), "utf8");
  const [, seconds] = /## The console\n.*?proxy_read_timeout (\d+)s;/s.exec(guide) ?? [];
  expect(Number(seconds) * 1_000).toBeGreaterThan(MAX_UPLOAD_WAIT_MS + CALL_TIMEOUTS_MS.slowCall);
});
