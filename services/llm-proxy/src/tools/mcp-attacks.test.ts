import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { startToolServer, type ToolServerResponse } from "@parley/test-support";
import { Agent } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { runWithTimeout, toToolFailure } from "./failures.ts";
import { McpSession } from "./mcp-session.client.ts";
import { McpToolListCache } from "./mcp-tool-list-cache.client.ts";

type Message = { id?: number; method?: string; result?: unknown; error?: unknown };
type Respond = (message: Message) => ToolServerResponse | undefined;

const result = (id: number | undefined, value: unknown): ToolServerResponse => ({
  body: JSON.stringify({ jsonrpc: "2.0", id, result: value }),
});
const events = (...messages: object[]): ToolServerResponse => ({
  headers: { "content-type": "text/event-stream" },
  body: messages.map((each) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...each })}\n\n`).join(""),
});

const initialized = (id: number | undefined, protocolVersion = "2025-06-18"): ToolServerResponse => ({
  headers: { "mcp-session-id": "s1" },
  ...result(id, { protocolVersion, capabilities: {}, serverInfo: { name: "x", version: "1" } }),
});

/** Starts an MCP server that opens sessions as the protocol demands. `respond` replaces its responses. */
async function startHostileServer(respond: Respond, agentOptions: Agent.Options = {}) {
  const server = await startToolServer();
  const dispatcher = new Agent(agentOptions);
  onTestFinished(async () => {
    await dispatcher.destroy();
    await server.close();
  });
  server.respondWith(({ method: httpMethod, body }) => {
    if (httpMethod !== "POST") return { status: 200 };
    const message = JSON.parse(body) as Message;
    const special = respond(message);
    if (special !== undefined) return { ...special, headers: { "mcp-session-id": "s1", ...special.headers } };
    if (message.method === "initialize") return initialized(message.id);
    if (message.id === undefined || message.method === undefined) return { status: 202 };
    return result(message.id, { tools: [] });
  });
  const target = { url: `${server.url}/mcp`, credentials: { headers: {}, redact: (text: string) => text } as never };
  const deps = { dispatcher, limits: () => ({ timeoutMs: 4_000, maxResultBytes: 32_768 }) as never };
  const list = () => {
    const cache = new McpToolListCache(deps);
    return cache.list("key", { target, onFailure: () => undefined }, new AbortController().signal);
  };
  const countRequests = (httpMethod: string) => server.requests.filter(({ method }) => method === httpMethod).length;
  return { server, list, countRequests, session: new McpSession(target, deps), other: new McpSession(target, deps) };
}

const listOf = (id: number | undefined, tools: unknown, nextCursor?: string) => result(id, { tools, nextCursor });

describe("an MCP server that lists", () => {
  const listing = (tools: unknown, nextCursor?: string) =>
    startHostileServer(({ id, method }) => (method === "tools/list" ? listOf(id, tools, nextCursor) : undefined));

  test.each<[string, unknown]>([
    ["a malformed tool", null],
    ["a tool without a schema object", { name: "bad", inputSchema: 3 }],
    ["a tool whose name is not a text", { name: 3 }],
    ["a tool whose schema is not an object schema", { name: "bad", inputSchema: { type: "string" } }],
  ])("%s keeps its other tools", async (_, bad) => {
    const { list } = await listing([{ name: "one", inputSchema: { type: "object" } }, bad, { name: "two" }]);
    const { tools, omitted, failure } = await list();
    expect([tools.map(({ name }) => name), omitted.length, failure]).toEqual([["one", "two"], 1, undefined]);
  });

  test("a schema that is nested 30,000 levels deep keeps its other tools", async () => {
    const deep = `${'{"type":"object","properties":{"x":'.repeat(6_000)}{}${"}}".repeat(6_000)}`;
    const { list } = await startHostileServer(({ id, method }) =>
      method === "tools/list"
        ? {
            body: `{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"deep","inputSchema":${deep}},{"name":"good"}]}}`,
          }
        : undefined,
    );
    const { tools, omitted } = await list();
    expect(tools.map(({ name }) => name)).toEqual(["good"]);
    expect(omitted).toEqual([{ name: "deep", reason: expect.stringContaining("64 levels") }]);
  });

  test("pages without end is asked for ten of them", async () => {
    const { server, list } = await listing([{ name: "a" }], "more");
    const { omitted } = await list();
    expect(server.requests.filter(({ body }) => body.includes("tools/list"))).toHaveLength(10);
    expect(omitted.at(-1)?.reason).toContain("too many pages");
  });

  test("1,000 tools has the first 256 read", async () => {
    const { list } = await listing(Array.from({ length: 1_000 }, (_, index) => ({ name: `t${index}` })));
    const { tools, omitted } = await list();
    expect(tools).toHaveLength(256);
    expect(omitted).toEqual([{ name: "", reason: expect.stringContaining("more than 256 tools") }]);
  });

  test.each(["nothing", 3, { a: 1 }, null])("%j instead of tools fails", async (tools) => {
    const { list } = await listing(tools);
    expect((await list()).failure).toMatchObject({ status: "failed" });
  });
});

describe("an MCP server that sends its own requests", () => {
  const pings = (count: number) => Array.from({ length: count }, (_, id) => ({ id: `p${id}`, method: "ping" }));

  test.each([
    ["as events", (id: number | undefined) => events(...pings(4_728), { id, result: { content: [] } })],
    [
      "as a JSON list",
      (id: number | undefined) => ({
        body: JSON.stringify(
          [...pings(4_728), { id, result: { content: [] } }].map((each) => ({ jsonrpc: "2.0", ...each })),
        ),
      }),
    ],
  ])("gets at most 16 answers to 4,728 pings in one response, %s", async (_, respond) => {
    const { server, session, countRequests } = await startHostileServer(({ id, method }) =>
      method === "tools/call" ? respond(id) : undefined,
    );
    await expect(session.call("x", {}, new AbortController().signal)).rejects.toMatchObject({
      status: "failed",
      detail: "server_requests",
    });
    await session.close();
    expect(server.requests.length).toBeLessThanOrEqual(3 + 16 + 2);
    expect(countRequests("DELETE")).toBe(1);
  });

  test("gets answers to a few of them", async () => {
    const { session } = await startHostileServer(({ id, method }) =>
      method === "tools/call"
        ? events(...pings(3), { id, result: { content: [{ type: "text", text: "sent" }, null, { type: 7 }] } })
        : undefined,
    );
    expect(await session.call("x", {}, new AbortController().signal)).toBe("sent\n[undefined omitted]\n[7 omitted]");
    await session.close();
  });
});

test("a response above the limit fails", async () => {
  const { session } = await startHostileServer(({ id, method }) =>
    method === "tools/call"
      ? events({ id: "x", method: "notifications/message", params: { data: "x".repeat(300_000) } }, { id, result: {} })
      : undefined,
  );
  await expect(session.call("x", {}, new AbortController().signal)).rejects.toMatchObject({ status: "too_large" });
  await session.close();
});

test("a response with the status 999 that does not end fails, and its connection is closed", async () => {
  let connections = 0;
  const server = createServer(async (request, response) => {
    const { id, method } = JSON.parse(await text(request)) as Message;
    if (method === "tools/list") return void response.writeHead(999).write("x");
    const value = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "x", version: "1" } };
    if (id === undefined) return void response.writeHead(202).end();
    response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, result: value }));
  });
  server.on("connection", (socket) => {
    connections++;
    socket.on("close", () => connections--);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const dispatcher = new Agent({ keepAliveTimeout: 10, keepAliveMaxTimeout: 10 });
  onTestFinished(async () => {
    await dispatcher.destroy();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const target = { url, credentials: { headers: {}, redact: (each: string) => each } as never };
  const session = new McpSession(target, { dispatcher, limits: () => ({ timeoutMs: 4_000 }) as never });
  const failure = await session.list(new AbortController().signal).catch(toToolFailure);
  expect(failure).toMatchObject({ status: "failed", detail: "http_999" });
  await session.close();
  await expect.poll(() => connections).toBe(0);
});

describe("a session is ended at the server", () => {
  const hangAt = (hanging: string) =>
    startHostileServer(({ method }) => (method === hanging ? { hangs: true } : undefined));
  const failAt = (failing: string) =>
    startHostileServer(({ method }) => (method === failing ? { status: 500 } : undefined));

  test.each<[string, () => ReturnType<typeof startHostileServer>]>([
    ["after a list", () => startHostileServer(() => undefined)],
    ["after a list that fails", () => failAt("tools/list")],
    ["after a list that has no response", () => hangAt("tools/list")],
    ["if the server refuses the notification that the session is open", () => failAt("notifications/initialized")],
    ["if the server does not respond to that notification", () => hangAt("notifications/initialized")],
    [
      "if the server has another protocol version",
      () => startHostileServer(({ id, method }) => (method === "initialize" ? initialized(id, "1") : undefined)),
    ],
  ])("%s", async (_, start) => {
    const { server, list, countRequests } = await start();
    await list();
    await expect.poll(() => countRequests("DELETE")).toBe(1);
    expect(server.requests.find(({ method }) => method === "DELETE")?.headers).toMatchObject({
      "mcp-session-id": "s1",
    });
    expect(countRequests("GET")).toBe(0);
  });

  test("after a call that is aborted, and the call's connection is closed", async () => {
    const { server, session, countRequests } = await hangAt("tools/call");
    const caller = new AbortController();
    const call = session.call("x", {}, caller.signal);
    await expect.poll(() => server.requests.some(({ body }) => body.includes("tools/call"))).toBe(true);
    caller.abort();
    await expect(call).rejects.toThrow();
    await session.close();
    expect(countRequests("DELETE")).toBe(1);
    await expect.poll(() => server.requests.some(({ closedByClientAt }) => closedByClientAt !== undefined)).toBe(true);
  });

  test("if its caller leaves before the server opens it", async () => {
    const { server, session, countRequests } = await startHostileServer(({ id, method }) =>
      method === "initialize" ? { ...initialized(id), delayMs: 500 } : undefined,
    );
    const caller = new AbortController();
    const call = session.call("x", {}, caller.signal);
    await expect.poll(() => server.requests.length).toBe(1);
    caller.abort(new Error("the visitor left"));
    await expect(call).rejects.toThrow("the visitor left");
    await session.close();
    expect(countRequests("DELETE")).toBe(1);
  });

  test("when a connection is free, although that takes longer than the server may", async () => {
    const { server, session, other, countRequests } = await startHostileServer(
      ({ id, method }) => (method === "tools/call" ? { ...result(id, {}), delayMs: 2_500 } : undefined),
      { connections: 1 },
    );
    const { signal } = new AbortController();
    await session.list(signal);
    const call = other.call("x", {}, signal);
    await expect.poll(() => server.requests.some(({ body }) => body.includes("tools/call"))).toBe(true);
    await session.close();
    expect(countRequests("DELETE")).toBe(1);
    await call;
    await other.close();
  });

  test("without waiting long for a server that does not open it", async () => {
    const { session } = await hangAt("initialize");
    const call = runWithTimeout(100, (signal) => session.call("x", {}, signal));
    await expect(call).rejects.toMatchObject({ status: "timeout" });
    const startedAtMs = performance.now();
    await session.close();
    expect(performance.now() - startedAtMs).toBeLessThan(4_000);
  });

  test("when it is closed while it connects", async () => {
    const { server, session, countRequests } = await hangAt("notifications/initialized");
    const call = runWithTimeout(5_000, (signal) => session.call("x", {}, signal));
    call.catch(() => undefined);
    await expect.poll(() => server.requests.some(({ body }) => body.includes("initialized"))).toBe(true);
    await session.close();
    await expect(call).rejects.toThrow();
    await expect.poll(() => countRequests("DELETE")).toBe(1);
  });
});
