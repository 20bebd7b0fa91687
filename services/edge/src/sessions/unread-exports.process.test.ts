import { randomUUID } from "node:crypto";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Registry } from "@parley/service-kit";
import fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { VALIDATION } from "../http/index.ts";
import { createStreamMetrics } from "../streams/stream.metrics.ts";
import { createStreamRegistry } from "../streams/stream-registry.ts";
import { type ExportDeps, exportSessionRoute } from "./export-session.route.ts";
import { exportSessionsRoutes } from "./export-sessions.route.ts";

const MAX_BUFFERED_BYTES = 64 * 1024;
const CHUNK = Buffer.alloc(256 * 1024, "x");

test.each([
  ["one session", `${randomUUID()}/export.json`],
  ["many sessions", "export.ndjson"],
])("an export of %s buffers at most 64 KiB for a client that does not read", async (_, path) => {
  let chunks = 0;
  async function* endless() {
    for (;;) {
      chunks++;
      yield { json: CHUNK, content: CHUNK, nextCursor: "" };
    }
  }
  const metrics = createStreamMetrics(new Registry());
  const deps = {
    verifyToken: async () => ({ userId: "u", workspaceId: "w", role: "viewer" }),
    limiter: { take: async () => ({ refusedBucket: undefined, remaining: 1, resetMs: 1 }) },
    malformedRequests: { refuseOverLimit: (_request: unknown, _reply: unknown, done: () => void) => done() },
    sessions: { getTranscript: endless, exportSessions: endless },
    streams: createStreamRegistry({ maxOpen: 1, maxOpenPerClient: 1 }, metrics, () => performance.now()),
  } as unknown as ExportDeps;
  const app = fastify({ ...VALIDATION, http: { highWaterMark: 16 * 1024 } });
  exportSessionRoute(app, deps);
  exportSessionsRoutes(app, deps);
  await app.listen({ port: 0 });
  const client = connect((app.server.address() as AddressInfo).port);
  onTestFinished(async () => {
    client.destroy();
    await app.close();
  });
  client.write(`GET /api/conversations/${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  // Waits until the kernel's buffers are full, so that the export reads no more chunks.
  for (let before = -1; before < chunks; await sleep(300)) before = chunks;
  expect(chunks).toBeGreaterThan(0);
  await expect.poll(async () => (await metrics.buffered.get()).values[0]?.value, { timeout: 3_000 }).toBeGreaterThan(0);
  expect((await metrics.buffered.get()).values[0]?.value).toBeLessThanOrEqual(MAX_BUFFERED_BYTES);
});
