import { randomUUID } from "node:crypto";
import {
  describeWith,
  type FakeProvider,
  freePort,
  type McpTestServer,
  quickOrFull,
  type ReceivedRequest,
  readSse,
  startMcpServer,
  startToolServer,
  type ToolServer,
} from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chat, exportTranscript, postChat } from "./system/chat.ts";
import { type Nginx, runNginx } from "./system/servers/nginx.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";

const SECRET = "sk-secret-of-the-tool";

let system: System;
let provider: FakeProvider;
let toolServer: ToolServer;
let nginxPort: number;
let mcp: McpTestServer;
let tenant: Tenant;
const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());
beforeAll(async () => {
  toolServer = await startToolServer();
  resources.defer(() => toolServer.close());
  nginxPort = await freePort();
  mcp = await startMcpServer([
    {
      name: "stock",
      inputSchema: { type: "object", properties: { item: { type: "string" } } },
      call: ({ item }) => ({ content: [{ type: "text", text: `7 of ${String(item)} left` }] }),
    },
  ]);
  resources.defer(() => mcp.close());
  system = await startSystem({
    llmConfig: (base_url) => ({
      default_model: "openai:default",
      providers: { openai: { base_url, api_key_env: "OPENAI_API_KEY" } },
      tools: { timeout_ms: 30_000 },
      tool_secrets: {
        orders: { env: "TOOL_KEY", hosts: [toolServer.url, `http://127.0.0.1:${nginxPort}`], workspaces: ["*"] },
      },
    }),
    env: { "llm-proxy": { TOOL_KEY: SECRET, EGRESS_ALLOW: "127.0.0.1/32" } },
  });
  resources.defer(() => system.stop());
  ({ provider } = system);
  tenant = await createTenant(system.admin);
  const { workspaceId, botSlug } = tenant;
  const parameters = JSON.stringify({ type: "object", properties: { id: { type: "string" } }, required: ["id"] });
  const url = `${toolServer.url}/orders/{id}`;
  const kind = { case: "http" as const, value: { description: "Finds an order.", method: "GET", url, parameters } };
  await system.admin.tools.putTool({ workspaceId, botSlug, tool: { name: "order", secret: "orders", kind } });
  const server = { case: "mcp" as const, value: { url: mcp.url, only: [] } };
  await system.admin.tools.putTool({ workspaceId, botSlug, tool: { name: "shop", kind: server } });
  await system.admin.moderation.addPattern({
    workspaceId,
    botSlug,
    pattern: "\\bsecret\\b",
    reason: "leak",
    fallback: "I cannot say.",
    appliesTo: "reply",
  });
});

type Message = { role: string; content: string };
const lastMessageOf = ({ body }: ReceivedRequest) => (body as { messages: Message[] }).messages.at(-1);

/** Scripts a model that calls both tools and then replies with their results. */
function scriptBothToolCalls(): void {
  provider.reset();
  provider.script((request) => {
    const { messages } = request.body as { messages: Message[] };
    const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
    if (lastMessageOf(request)?.role === "tool") return { tokens: [results.join("; ")] };
    return {
      toolCalls: [
        { name: "order", arguments: '{"id":"A7"}' },
        { name: "shop__stock", arguments: '{"item":"tea"}' },
      ],
    };
  });
}

async function readTranscript(sessionId: string, owner = tenant) {
  const response = await exportTranscript(system, owner, sessionId);
  return (await response.json()) as { messages: Record<string, unknown>[] };
}

test("a turn calls an HTTP tool and an MCP server and replies with their results, and the transcript lists the calls", async () => {
  scriptBothToolCalls();
  toolServer.respondWith(() => ({ body: '{"state":"sent"}' }));
  const session_id = randomUUID();
  const reply = await chat(system.url(), tenant, { session_id });
  expect(reply.text).toBe('{"state":"sent"}; 7 of tea left');
  expect([...new Set(reply.events.map(({ event }) => event))]).toEqual(["meta", "token", "done"]);
  // These are exactly the fields of the contract. The token counts are the sums over both provider requests.
  expect(reply.done).toEqual({
    finish_reason: "stop",
    tokens_in: 42,
    tokens_out: 68,
    latency_ms: expect.any(Number),
    model: "openai:default",
  });
  const { messages } = await readTranscript(session_id);
  expect(messages[1]).toMatchObject({
    status: "done",
    tools_called: [
      { name: "order", arguments: { id: "A7" }, status: "ok", latency_ms: expect.any(Number) },
      { name: "shop__stock", arguments: { item: "tea" }, status: "ok", latency_ms: expect.any(Number) },
    ],
  });
  expect(messages[0]).toMatchObject({ tools_called: [] });
  expect(toolServer.requests[0]?.headers.authorization).toBe(`Bearer ${SECRET}`);
});

test("a turn completes with the model's reply when a tool fails", async () => {
  provider.reset();
  toolServer.respondWith(() => ({ status: 500, body: "inside of the tool" }));
  provider.script((request) =>
    lastMessageOf(request)?.role === "tool"
      ? { tokens: ["I could not look it up."] }
      : { toolCalls: [{ name: "order", arguments: '{"id":"A7"}' }] },
  );
  const session_id = randomUUID();
  const reply = await chat(system.url(), tenant, { session_id });
  expect([reply.text, reply.done?.finish_reason]).toEqual(["I could not look it up.", "stop"]);
  expect((await readTranscript(session_id)).messages[1]).toMatchObject({ tools_called: [{ status: "failed" }] });
});

test("a turn cancels a tool call within a second after the visitor has left, and stores the completed calls", async () => {
  provider.reset();
  toolServer.requests.length = 0;
  let calls = 0;
  toolServer.respondWith(() => (++calls === 1 ? { body: "{}" } : { hangs: true }));
  provider.script(() => ({ toolCalls: [{ name: "order", arguments: '{"id":"A7"}' }] }));
  const visitor = new AbortController();
  const session_id = randomUUID();
  const response = await postChat(system.url(), tenant, { session_id }, { signal: visitor.signal });
  await expect.poll(() => toolServer.requests.length, { timeout: 10_000 }).toBe(2);
  const leftAt = Date.now();
  visitor.abort();
  await response.text().catch(() => undefined);
  await expect.poll(() => toolServer.requests[1]?.closedByClientAt, { timeout: 10_000 }).toBeDefined();
  expect((toolServer.requests[1]?.closedByClientAt ?? 0) - leftAt).toBeLessThan(1_000);
  await expect
    .poll(async () => (await readTranscript(session_id)).messages[1], { timeout: 10_000 })
    .toMatchObject({ status: "cancelled", tools_called: [{ name: "order", status: "ok" }] });
});

describe("a reply that matches a moderation pattern", () => {
  test("is replaced by the fallback and not counted, and the match is neither shown nor stored", async () => {
    provider.reset();
    provider.script(() => ({
      tokens: ["The code word that you asked for is ", "sec", "ret", ", of course"],
      everyMs: 30,
    }));
    const readUsage = async () => (await system.admin.workspaces.showUsage({ workspaceId: tenant.workspaceId })).usage;
    await expect.poll(async () => (await readUsage())?.held, { timeout: 10_000 }).toBe(0);
    const before = (await readUsage())?.used;
    const session_id = randomUUID();
    const reply = await chat(system.url(), tenant, { session_id });
    expect(reply.events.filter(({ event }) => event !== "token").map(({ event }) => event)).toEqual([
      "meta",
      "blocked",
      "done",
    ]);
    expect(reply.events.at(-2)?.data).toEqual({ reason: "leak", fallback: "I cannot say." });
    expect("The code word that you asked for is ".startsWith(reply.text)).toBe(true);
    expect(reply.done).toMatchObject({ finish_reason: "blocked", model: "openai:default" });
    expect(reply.done?.tokens_out).toBeGreaterThan(0);
    const { messages } = await readTranscript(session_id);
    expect(messages[1]).toMatchObject({ status: "blocked", content: "I cannot say." });
    await expect.poll(readUsage, { timeout: 10_000 }).toMatchObject({ used: before, held: 0 });
  });
});

describeWith("nginx", "a tool behind an nginx that routes /admin to another server", () => {
  /** Each tool's name is the number of times that nginx decodes the path of its URL. */
  const CASES = [
    { tool: "once", prefix: "" },
    { tool: "twice", prefix: "/twice" },
  ];
  let admin: ToolServer;
  let nginx: Pick<Nginx, "stop">;
  let nginxTenant: Tenant;
  beforeAll(async () => {
    admin = await startToolServer();
    resources.defer(() => admin.close());
    const secondPort = await freePort();
    const routes = `
      location = /healthz/live { return 200; }
      location /orders/ { proxy_pass ${toolServer.url}; }
      location /admin { proxy_pass ${admin.url}; }`;
    // nginx puts the decoded path into $uri, so the second server decodes the path again.
    nginx = await runNginx(
      nginxPort,
      () => `
        server {
          listen 127.0.0.1:${nginxPort};
          location /twice/ { rewrite ^/twice(/.*)$ $1 break; proxy_pass http://127.0.0.1:${secondPort}$uri; }
          ${routes}
        }
        server { listen 127.0.0.1:${secondPort}; ${routes} }`,
    );
    resources.defer(() => nginx.stop());
    nginxTenant = await createTenant(system.admin);
    const { workspaceId, botSlug } = nginxTenant;
    const parameters = JSON.stringify({ type: "object", properties: { id: { type: "string" } }, required: ["id"] });
    for (const { tool, prefix } of CASES) {
      const url = `http://127.0.0.1:${nginxPort}${prefix}/orders/{id}`;
      const kind = { case: "http" as const, value: { description: "Finds an order.", method: "GET", url, parameters } };
      await system.admin.tools.putTool({ workspaceId, botSlug, tool: { name: tool, secret: "orders", kind } });
    }
  });

  /** Sends a message for which the model calls the tool with this argument. */
  async function call(name: string, id: string) {
    provider.reset();
    provider.script((request) => {
      const { role, content = "" } = lastMessageOf(request) ?? {};
      return role === "tool" ? { tokens: [content] } : { toolCalls: [{ name, arguments: JSON.stringify({ id }) }] };
    });
    toolServer.requests.length = 0;
    admin.requests.length = 0;
    toolServer.respondWith(() => ({ body: "{}" }));
    const session_id = randomUUID();
    const { text } = await chat(system.url(), nginxTenant, { session_id });
    return { text, message: (await readTranscript(session_id, nginxTenant)).messages[1] };
  }

  test.each([
    ["once", "../admin"],
    ["twice", "..%2Fadmin"],
    ["twice", "%2e%2e%2fadmin"],
  ])("is not called when nginx decodes %s and the argument is %s", async (tool, id) => {
    const { text, message } = await call(tool, id);
    expect(admin.requests.map(({ headers }) => headers.authorization)).toEqual([]);
    expect(toolServer.requests).toEqual([]);
    expect(message).toMatchObject({ status: "done", tools_called: [{ name: tool, status: "invalid_arguments" }] });
    expect(text).toContain("must not contain a slash");
  });

  test.each(CASES)(
    "is called with its secret when nginx decodes $tool and the argument has no slash",
    async ({ tool }) => {
      await call(tool, "A7.b");
      expect(toolServer.requests).toMatchObject([{ headers: { authorization: `Bearer ${SECRET}` } }]);
      expect(admin.requests).toEqual([]);
    },
  );
});

test("a stream gets a heartbeat for each 15 s of a running tool call", async () => {
  // The edge sends a heartbeat after 15 s without an event. The full run waits longer and expects one heartbeat. The quick run expects none.
  const delayMs = quickOrFull(500, 17_000);
  scriptBothToolCalls();
  toolServer.respondWith(() => ({ body: "{}", delayMs }));
  const names: string[] = [];
  for await (const item of readSse(await postChat(system.url(), tenant)))
    names.push("event" in item ? item.event : "heartbeat");
  expect(names.filter((name) => name === "heartbeat")).toHaveLength(quickOrFull(0, 1));
  // The number of token events depends on timing.
  const events = names.filter((name) => name !== "heartbeat");
  expect(events.filter((event, index) => event !== events[index - 1])).toEqual(["meta", "token", "done"]);
}, 60_000);

test("no service prints a secret, an argument or a result of a tool", () => {
  const printed = [system.llm, system.conversation, system.quota, ...system.edges]
    .map((service) => service.outputs())
    .join("");
  for (const word of [SECRET, "A7", "inside of the tool", "7 of tea left", "code word"])
    expect(printed).not.toContain(word);
});
