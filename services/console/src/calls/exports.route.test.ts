import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import type { Authenticate } from "../sign-in/index.ts";
import { createCallEdge } from "./edge.client.ts";
import { exportRoutes } from "./exports.route.ts";

const DELAY_MS = 600;

/** Starts the routes and a fake edge. The edge delays its response if the URL contains `slow`. */
async function startRoutes() {
  const edgePaths: string[] = [];
  const edge = createServer((request, response) => {
    edgePaths.push(request.url ?? "");
    setTimeout(() => response.end("{}"), request.url?.includes("slow") ? DELAY_MS : 0);
  });
  await new Promise<void>((resolve) => edge.listen(0, "127.0.0.1", resolve));
  const app = Fastify();
  onTestFinished(async () => {
    await app.close();
    edge.close();
  });
  const countedResponses: [string, number][] = [];
  const callEdge = createCallEdge(`http://127.0.0.1:${(edge.address() as AddressInfo).port}`);
  const authenticate = (async () => ({ authorization: "Bearer t", workspaceId: "w" })) as unknown as Authenticate;
  const onResponse = (method: string, status: number) => countedResponses.push([method, status]);
  exportRoutes(app, { authenticate, callEdge, onResponse });
  const failures: Error[] = [];
  app.setErrorHandler((error: Error & { status?: number }, _, reply) => {
    failures.push(error);
    return reply.code(error.status ?? 500).send();
  });
  return { app, edgePaths, countedResponses, failures };
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
  const { app, edgePaths, countedResponses } = await startRoutes();
  await app.inject("/api/conversations/export.csv?visitor_id=why?&bom=1");
  await app.inject("/api/conversations/export.ndjson");
  expect(edgePaths).toEqual([
    "/api/conversations/export.csv?visitor_id=why?&bom=1",
    "/api/conversations/export.ndjson",
  ]);
  expect(countedResponses).toEqual([
    ["GET /api/conversations/export.csv", 200],
    ["GET /api/conversations/export.ndjson", 200],
  ]);
});
