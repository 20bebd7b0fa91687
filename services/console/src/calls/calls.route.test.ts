import { BotAdminService } from "@parley/rpc/conversation";
import { MemberCallLimiter } from "@parley/service-kit";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import type { Authenticate } from "../sign-in/index.ts";
import type { AdminCalls } from "./admin-calls.client.ts";
import { callRoutes } from "./calls.route.ts";

test.each([
  ["a compressed", "{}", { "content-encoding": "gzip" }],
  ["a large uncompressed", "x".repeat(256 * 1024 + 1), {}],
])("refuses %s body with 429 if another upload of the workspace takes too long", async (_, payload, headers) => {
  // The limiter treats a body as an upload if it has an unknown length, is compressed, or has more than 256 KiB.
  const maxUploadWaitMs = 10;
  const limiter = new MemberCallLimiter(maxUploadWaitMs);
  const authenticate = (async () => ({ authorization: "Bearer t", workspaceId: "w" })) as unknown as Authenticate;
  const app = Fastify();
  onTestFinished(() => app.close());
  const failures: Error[] = [];
  app.setErrorHandler((error: Error & { status?: number }, __, reply) => {
    failures.push(error);
    return reply.code(error.status ?? 500).send();
  });
  callRoutes(app, { authenticate, limiter, adminCalls: {} as AdminCalls });
  await limiter.enter("w", { contentLength: undefined, isCompressed: false }, new AbortController().signal);
  const url = `/api/rpc/${BotAdminService.typeName}/${BotAdminService.method.listBots.name}`;
  expect((await app.inject({ method: "POST", url, headers, payload })).statusCode).toBe(429);
  expect(failures).toMatchObject([
    { code: "too_many_documents", headers: { "retry-after": "5", "parley-code": "too_many_documents" } },
  ]);
});
