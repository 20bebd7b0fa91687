import { randomUUID } from "node:crypto";
import fastify from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type PlaygroundDeps, playgroundRoute } from "../chat/playground.route.ts";
import { overloadedError, VALIDATION } from "../http/index.ts";
import { rawBody } from "../http/plugins/raw-body.plugin.ts";
import { type ExportDeps, exportSessionRoute } from "../sessions/export-session.route.ts";
import { exportSessionsRoutes } from "../sessions/export-sessions.route.ts";

const buckets: string[] = [];
const app = fastify(VALIDATION);

beforeAll(async () => {
  const deps = {
    verifyToken: async (userId: string) => ({ userId, workspaceId: "w", role: "viewer" }),
    limiter: { take: async () => ({ refusedBucket: undefined, remaining: 1, resetMs: 1 }) },
    malformedRequests: { refuseOverLimit: (_request: unknown, _reply: unknown, done: () => void) => done() },
    conversation: { resolveBot: async () => ({ botId: "b" }) },
    monotonicMs: () => 0,
    hashClient: () => new Uint8Array(),
    turnDeps: { runningTurns: { findReply: () => undefined }, unpaidReplies: { findRefusal: () => undefined } },
    streams: {
      open(_raw: unknown, bucket: string) {
        buckets.push(bucket);
        throw overloadedError("client");
      },
    },
  } as unknown as PlaygroundDeps & ExportDeps;
  await app.register(rawBody);
  playgroundRoute(app, deps);
  exportSessionRoute(app, deps);
  exportSessionsRoutes(app, deps);
});
afterAll(() => app.close());

const PLAYGROUND = { method: "POST", url: "/api/chat/playground/" } as const;
const ID = randomUUID();

test.each([
  ["a playground message", PLAYGROUND, {}],
  ["a playground message with an idempotency key", PLAYGROUND, { "idempotency-key": ID }],
  ["an export of one session", { method: "GET", url: `/api/conversations/${ID}/export.json` } as const, {}],
  ["an export of many sessions", { method: "GET", url: "/api/conversations/export.ndjson" } as const, {}],
])(
  "counts the stream of %s for the signed-in user, because all users of the console share one address",
  async (_, target, headers) => {
    buckets.length = 0;
    for (const user of ["a", "b"]) {
      const payload = JSON.stringify({ bot_slug: "b", session_id: ID, message: "Hello?" });
      await app.inject({ ...target, headers: { ...headers, authorization: user }, payload });
    }
    expect(buckets).toEqual(["user a", "user b"]);
  },
);
