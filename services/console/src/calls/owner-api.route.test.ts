import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { MemberCallLimiter } from "@parley/service-kit";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import type { Authenticate } from "../sign-in/index.ts";
import { createCallEdge } from "./owner-api.client.ts";
import { ownerApiRoutes } from "./owner-api.route.ts";

const TIMEOUT_MS = 200;

/** Starts the routes and a fake edge. The edge delays its response if the URL contains `slow`. */
async function startRoutes(limiter = new MemberCallLimiter()) {
  const edgePaths: string[] = [];
  const edge = createServer((request, response) => {
    edgePaths.push(request.url ?? "");
    setTimeout(() => response.end("{}"), request.url?.includes("slow") ? 3 * TIMEOUT_MS : 0);
  });
  await new Promise<void>((resolve) => edge.listen(0, "127.0.0.1", resolve));
  const app = Fastify();
  app.decorateRequest("forwardedAuthorization", "");
  onTestFinished(async () => {
    await app.close();
    edge.close();
  });
  const countedResponses: [string, number][] = [];
  const callEdge = createCallEdge(`http://127.0.0.1:${(edge.address() as AddressInfo).port}`);
  const authenticate = (async () => ({ authorization: "Bearer t", workspaceId: "w" })) as unknown as Authenticate;
  const onResponse = (method: string, status: number) => countedResponses.push([method, status]);
  ownerApiRoutes(app, { authenticate, limiter, callEdge, onResponse }, TIMEOUT_MS);
  const failures: Error[] = [];
  app.setErrorHandler((error: Error & { status?: number }, _, reply) => {
    failures.push(error);
    return reply.code(error.status ?? 500).send();
  });
  const get = (url: string) => app.inject({ method: "GET", url });
  return { app, get, edgePaths, countedResponses, failures };
}

test("fails with 499, and counts no response, if the browser disconnects before the edge responds", async () => {
  const { app, edgePaths, countedResponses, failures } = await startRoutes();
  await app.listen({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/api/conversations/export.csv?slow`;
  const controller = new AbortController();
  const response = fetch(url, { signal: controller.signal });
  await expect.poll(() => edgePaths).toHaveLength(1);
  controller.abort();
  await expect(response).rejects.toThrow("abort");
  await expect.poll(() => failures).toMatchObject([{ status: 499, code: "client_gone" }]);
  expect(countedResponses).toEqual([]);
});

test("forwards a query with a second question mark", async () => {
  const { get, edgePaths } = await startRoutes();
  await get("/api/conversations/?search=why?&limit=1");
  await get("/api/conversations/");
  expect(edgePaths).toEqual(["/api/conversations/?search=why?&limit=1", "/api/conversations/"]);
});

test("limits the wait for the edge, except for exports, and counts a timeout as 503", async () => {
  const { get, countedResponses } = await startRoutes();
  const statuses = [await get("/api/conversations/?slow"), await get("/api/conversations/export.csv?slow")];
  expect(statuses.map(({ statusCode }) => statusCode)).toEqual([503, 200]);
  expect(countedResponses).toEqual([
    ["GET /api/conversations/", 503],
    ["GET /api/conversations/export.csv", 200],
  ]);
});

test.each([
  ["a compressed", "{}", { "content-encoding": "gzip" }],
  ["a large uncompressed", "x".repeat(256 * 1024 + 1), {}],
])("refuses %s body with 429 if another upload of the workspace takes too long", async (_, payload, headers) => {
  // The limiter treats a body as an upload if it has an unknown length, is compressed, or has more than 256 KiB.
  const maxUploadWaitMs = 10;
  const limiter = new MemberCallLimiter(maxUploadWaitMs);
  const { app, failures, edgePaths } = await startRoutes(limiter);
  await limiter.enter("w", { contentLength: undefined, isCompressed: false }, new AbortController().signal);
  const { statusCode } = await app.inject({ method: "POST", url: "/api/conversations/erase/", headers, payload });
  expect(statusCode).toBe(429);
  expect(failures).toMatchObject([
    { code: "too_many_documents", headers: { "retry-after": "5", "parley-code": "too_many_documents" } },
  ]);
  expect(edgePaths).toEqual([]);
});
