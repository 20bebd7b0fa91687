import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Registry } from "@parley/service-kit";
import { expect, onTestFinished, test, vi } from "vitest";
import { startReplyResponse } from "./sse-sink.ts";
import { createStreamMetrics } from "./stream.metrics.ts";
import { createStreamRegistry } from "./stream-registry.ts";

const OPTIONS = { open: () => ({}), heartbeatMs: 60_000, endSignal: new AbortController().signal };
const META = { session_id: "0195c1f0-0000-7000-8000-000000000002", message_id: 1 };

/** Sends two requests at once on one connection. The second response waits until the first has ended. */
async function pipelineTwoRequests() {
  const responses: ServerResponse[] = [];
  const server = createServer((_, response) => responses.push(response)).listen(0);
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port);
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2));
  await expect.poll(() => responses.length).toBe(2);
  const [first, second] = responses as [ServerResponse, ServerResponse];
  return { client, first, second };
}

test("disconnect resets the connection even if the response waits behind another one", async () => {
  const { client, second } = await pipelineTwoRequests();
  const connectionError = once(client, "error");
  startReplyResponse(second, META, 0, OPTIONS).disconnect();
  expect(await connectionError).toMatchObject([{ code: "ECONNRESET" }]);
});

test("a response that waits behind another one on its connection does not count as stalled", async () => {
  const { second } = await pipelineTwoRequests();
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  let nowMs = 0;
  const metrics = createStreamMetrics(new Registry());
  const streams = createStreamRegistry({ maxOpen: 2, maxOpenPerClient: 2 }, metrics, () => nowMs);
  streams.open(second, "client");
  startReplyResponse(second, META, 0, OPTIONS);
  nowMs = 40_000;
  vi.advanceTimersByTime(1_000);
  expect(second.writableLength).toBeGreaterThan(0);
  expect((await metrics.stalled.get()).values).toMatchObject([{ value: 0 }]);
});
