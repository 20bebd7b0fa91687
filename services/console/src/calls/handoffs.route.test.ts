import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import Fastify from "fastify";
import { UnsecuredJWT } from "jose";
import { expect, onTestFinished, test } from "vitest";
import type { HttpError } from "../http/index.ts";
import type { Authenticate } from "../sign-in/index.ts";
import { createCallEdge } from "./edge.client.ts";
import { handoffRoutes } from "./handoffs.route.ts";

const AUTHORIZATION = `Bearer ${new UnsecuredJWT({ sub: "u1", name: "Ada" }).encode()}`;

/** Starts the routes with a fake edge. */
async function startRoutes(listener: RequestListener) {
  const edge = createServer(listener);
  await new Promise<void>((resolve) => edge.listen(0, "127.0.0.1", resolve));
  const app = Fastify();
  onTestFinished(async () => {
    await app.close();
    edge.closeAllConnections();
    edge.close();
  });
  app.decorateRequest("forwardedAuthorization", "");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_, body, done) => done(null, body));
  app.setErrorHandler((error: HttpError, _, reply) =>
    reply.code(error.status).headers(error.headers).send({ error: error.code }),
  );
  const callEdge = createCallEdge(`http://127.0.0.1:${(edge.address() as AddressInfo).port}`);
  const authenticate = (async () => ({ authorization: AUTHORIZATION, workspaceId: "w" })) as unknown as Authenticate;
  const counted: [string, number][] = [];
  handoffRoutes(app, { authenticate, callEdge, onResponse: (method, status) => counted.push([method, status]) });
  return { app, edge, counted };
}

test("the token names the person who answers, whatever the page sends", async () => {
  const received: { request: IncomingMessage; body: string }[] = [];
  const { app, counted } = await startRoutes(async (request, response) => {
    received.push({ request, body: await text(request) });
    response
      .writeHead(409, { "content-type": "application/json", "set-cookie": "a=b" })
      .end('{"detail":"not_assigned"}');
  });
  const agent = { id: "mallory", name: "Mallory" };
  const response = await app.inject({
    method: "POST",
    url: "/api/conversations/..%2Fhandoffs/messages/",
    payload: JSON.stringify({ text: "Hi", agent }),
  });
  expect([response.statusCode, response.json()]).toEqual([409, { detail: "not_assigned" }]);
  expect(response.headers).not.toHaveProperty("set-cookie");
  const [sent] = received;
  expect(sent?.request.url).toBe("/api/conversations/..%2Fhandoffs/messages/");
  expect(sent?.request.headers.authorization).toBe(AUTHORIZATION);
  expect(JSON.parse(sent?.body ?? "")).toEqual({ text: "Hi", agent: { id: "u1", name: "Ada" } });
  expect(counted).toEqual([["POST /api/conversations/:id/messages/", 409]]);
});

test("only assign may name a colleague, and the list gets the name of the token", async () => {
  const received: string[] = [];
  const { app } = await startRoutes(async (request, response) => {
    received.push((await text(request)) || String(request.url));
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  const colleague = { id: "u2", name: "Ben" };
  const url = "/api/conversations/1/handoff/";
  for (const payload of [{ action: "assign", colleague }, { action: "take", colleague }, { action: "assign" }])
    await app.inject({ method: "POST", url, payload: JSON.stringify(payload) });
  const agent = { id: "u1", name: "Ada" };
  expect(received.splice(0).map((body) => JSON.parse(body))).toEqual([
    { action: "assign", agent: colleague },
    { action: "take", agent },
    { action: "assign", agent },
  ]);
  await app.inject({ url: "/api/handoffs/live/" });
  expect(received).toEqual(["/api/handoffs/live/?agent_name=Ada"]);
});

test.each(["", "{", "null", '"text"'])("refuses the body %j", async (payload) => {
  const { app, counted } = await startRoutes((_, response) => response.end());
  const response = await app.inject({ method: "POST", url: "/api/conversations/1/handoff/", payload });
  expect([response.statusCode, response.json()]).toEqual([400, { error: "invalid_json" }]);
  expect(counted).toEqual([]);
});

test("streams the list, and ends the stream when the console stops", async () => {
  const { app } = await startRoutes((_, response) => {
    response
      .writeHead(200, { "content-type": "text/event-stream", "x-accel-buffering": "no" })
      .write("event: handoffs\n");
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/api/handoffs/live/`;
  const response = await fetch(url);
  expect(response.headers.get("x-accel-buffering")).toBe("no");
  const reader = response.body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("event: handoffs\n");
  const ended = reader?.read().then(
    ({ done }) => done,
    () => true,
  );
  await app.close();
  expect(await ended).toBe(true);
});

test.each([
  ["GET", "/api/handoffs/live/"],
  ["POST", "/api/conversations/:id/handoff/"],
  ["GET", "/api/conversations/:id/notes/"],
  ["POST", "/api/conversations/:id/notes/"],
])("answers 503 if the edge does not answer %s %s", async (method, path) => {
  const { app, counted } = await startRoutes((request) => request.socket.destroy());
  await app.listen({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}${path.replace(":id", "1")}`;
  const response = await fetch(url, { method, ...(method === "POST" && { body: "{}" }) });
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(counted).toEqual([[`${method} ${path}`, 503]]);
});
