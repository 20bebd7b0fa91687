import { Role } from "@parley/rpc/llm";
import {
  type FakeProvider,
  type McpTestServer,
  type ReceivedRequest,
  startFakeProvider,
  startMcpServer,
  startToolServer,
} from "@parley/test-support";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventually, startTestProxy, statusOf, type TestProxy } from "../testing/llm-proxy.ts";

const SECRET = "sk-server";
const text = (content: string) => ({ content: [{ type: "text" as const, text: content }] });

let onHang: (() => void) | undefined;
let provider: FakeProvider;
let server: McpTestServer;
let proxy: TestProxy;
beforeAll(async () => {
  [provider, server] = await Promise.all([
    startFakeProvider(),
    startMcpServer([
      {
        name: "orders.find",
        description: "Finds an order.",
        inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
        call: ({ id }) => text(`order ${String(id)} was sent`),
      },
      {
        name: "tree",
        inputSchema: {
          type: "object",
          $defs: {
            node: { type: "object", properties: { child: { $ref: "#/$defs/node" }, at: { type: ["string", "null"] } } },
          },
          properties: { root: { $ref: "#/$defs/node" }, when: { oneOf: [{ const: "now" }, { format: "uri" }] } },
        } as never,
        call: () => text("planted"),
      },
      { name: "fail", call: () => ({ ...text("there is no such order"), isError: true }) },
      { name: "throw", call: () => Promise.reject(new Error("internal detail of the server")) },
      { name: "long", call: () => text("x".repeat(2_000)) },
      { name: "image", call: () => ({ content: [{ type: "image", data: "AA==", mimeType: "image/png" }] }) },
      { name: "hang", call: () => new Promise<never>(() => onHang?.()) },
    ]),
  ]);
  proxy = await startTestProxy({
    environment: { KEY: SECRET, EGRESS_ALLOW: "127.0.0.1/32" },
    config: `
      default_model: fake:default
      tools: { timeout_ms: 1500, max_result_bytes: 1024 }
      tool_secrets: { mcp: { env: KEY, hosts: ["${new URL(server.url).origin}"], workspaces: ["ws_test"] } }
      providers: { fake: { base_url: "${provider.url}" } }
    `,
  });
});
afterAll(async () => {
  await proxy.drop();
  await Promise.all([provider.close(), server.close()]);
});
afterEach(() => provider.reset());

type Message = { role: string; content: string };
const lastMessageOf = ({ body }: ReceivedRequest) => (body as { messages: Message[] }).messages.at(-1);
const toolNamesOf = (request: ReceivedRequest | undefined) =>
  (request?.body as { tools?: { function: { name: string } }[] } | undefined)?.tools?.map((each) => each.function.name);

function generate(
  call: { name: string; arguments: string } | undefined,
  options: {
    url?: string;
    only?: string[];
    secret?: string;
    signal?: AbortSignal;
    workspaceId?: string;
  } = {},
) {
  const { url = server.url, only = [], secret = "mcp", ...rest } = options;
  provider.script((request) =>
    call === undefined || lastMessageOf(request)?.role === "tool"
      ? { tokens: ["So: ", call === undefined ? "nothing" : (lastMessageOf(request)?.content ?? "")] }
      : { toolCalls: [call] },
  );
  return proxy.generate({
    ...rest,
    prompt: {
      tools: [{ name: "shop", secret, kind: { case: "mcp", value: { url, only } } }],
      messages: [{ role: Role.USER, content: "Where is it?" }],
    },
  });
}

test("offers a server's tools to the model with the server's name as prefix, and sends the model the results of its calls", async () => {
  const events = await generate({ name: "shop__orders_find", arguments: '{"id":"A7"}' });
  expect(statusOf(events)).toBe("COMPLETE");
  expect(events.text).toBe("So: order A7 was sent");
  expect(events.toolCalls).toMatchObject([{ name: "shop__orders_find", arguments: '{"id":"A7"}', status: "ok" }]);
  expect(toolNamesOf(provider.requests[0])).toEqual(
    ["orders_find", "tree", "fail", "throw", "long", "image", "hang"].map((name) => `shop__${name}`),
  );
  expect(provider.requests[0]?.body).toMatchObject({
    tools: expect.arrayContaining([
      {
        type: "function",
        function: {
          name: "shop__orders_find",
          description: "Finds an order.",
          parameters: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
        },
      },
    ]),
  });
  // Every request to the MCP server had the secret, and no MCP session is left open.
  expect(new Set(server.authorizations)).toEqual(new Set([`Bearer ${SECRET}`]));
  await eventually(
    () => server.countOpenSessions(),
    (open) => open === 0,
  );
});

/** Returns what a strict provider refuses in a tool's schema. */
function findRefused(schema: unknown, path: string): string[] {
  const {
    type,
    properties,
    required,
    items,
    anyOf,
    description,
    enum: values,
    ...others
  } = schema as Record<string, never>;
  const refused = Object.keys(others).map((keyword) => `${path}: ${keyword}`);
  if (anyOf === undefined && typeof type !== "string") refused.push(`${path}: no type`);
  if (type === "object" && (properties === undefined || !Array.isArray(required)))
    refused.push(`${path}: no properties`);
  if (type === "array" && items === undefined) refused.push(`${path}: no items`);
  if (values !== undefined && type !== "string") refused.push(`${path}: enum`);
  const parts = { ...Object(properties), ...(items !== undefined && { items }), ...Object(anyOf) } as object;
  return [...refused, ...Object.entries(parts).flatMap(([name, each]) => findRefused(each, `${path}.${name}`))];
}

test("a strict provider accepts every schema", async () => {
  await generate(undefined);
  const { tools = [] } = (provider.requests[0]?.body ?? {}) as {
    tools?: { function: { name: string; parameters: unknown } }[];
  };
  expect(tools.flatMap(({ function: { name, parameters } }) => findRefused(parameters, name))).toEqual([]);
  expect(tools).toHaveLength(7);
});

test.each([
  ["{}", "arguments must have required property 'id'"],
  ['{"id":7}', "arguments/id must be string"],
])("the arguments %s are not sent, and the model gets the wrong field", async (args, problem) => {
  const countBefore = server.methods.filter((method) => method === "tools/call").length;
  const events = await generate({ name: "shop__orders_find", arguments: args });
  expect(events.toolCalls).toMatchObject([{ status: "invalid_arguments" }]);
  expect(events.text).toBe(`So: Error: ${problem}`);
  expect(server.methods.filter((method) => method === "tools/call")).toHaveLength(countBefore);
});

test("the list of a server's tools is cached", async () => {
  await generate(undefined);
  const countBefore = server.methods.filter((method) => method === "tools/list").length;
  for (let reply = 0; reply < 3; reply++) await generate(undefined);
  expect(server.methods.filter((method) => method === "tools/list")).toHaveLength(countBefore);
});

test("only the selected tools are offered", async () => {
  await generate(undefined, { only: ["fail"] });
  expect(toolNamesOf(provider.requests[0])).toEqual(["shop__fail"]);
});

test.each([
  ["fail", "failed", "Error: there is no such order"],
  ["throw", "failed", "Error: the tool cannot be reached"],
  ["long", "too_large", "Error: the tool's result is too large"],
  ["image", "ok", "[image omitted]"],
  ["nothing", "unknown_tool", "Error: there is no tool of this name"],
  ["hang", "timeout", "Error: the tool did not respond in time"],
])("a call of the tool %s has the status %s", async (name, status, result) => {
  const events = await generate({ name: `shop__${name}`, arguments: "" });
  expect(statusOf(events)).toBe("COMPLETE");
  expect(events.toolCalls).toMatchObject([{ name: `shop__${name}`, status }]);
  expect(events.text).toBe(`So: ${result}`);
  await eventually(
    () => server.countOpenSessions(),
    (open) => open === 0,
  );
});

test("a generation cancelled during a tool call leaves no MCP session open", async () => {
  const caller = new AbortController();
  onHang = () => caller.abort();
  await expect(generate({ name: "shop__hang", arguments: "{}" }, { signal: caller.signal })).rejects.toMatchObject({
    code: "cancelled",
  });
  onHang = undefined;
  await eventually(
    () => server.countOpenSessions(),
    (open) => open === 0,
  );
});

test.each([
  ["that is unreachable", () => ({ url: "http://127.0.0.1:65000/mcp", secret: "" })],
  ["at an address that is not permitted", () => ({ url: "http://127.0.0.2:65000/mcp", secret: "" })],
  ["whose secret is not for this workspace", () => ({ workspaceId: "ws_other" })],
])("a server %s is left out, and the model answers without it", async (_, options) => {
  const events = await generate(undefined, options());
  expect([statusOf(events), events.text]).toEqual(["COMPLETE", "So: nothing"]);
  expect(toolNamesOf(provider.requests[0])).toBeUndefined();
});

test("a redirect is not followed, a response of 5 MB is refused, and a server that does not respond delays only the first visitor", async () => {
  const malicious = await startToolServer();
  const elsewhere = await startToolServer();
  malicious.respondWith(() => ({ status: 307, headers: { location: `${elsewhere.url}/mcp` } }));
  expect((await generate(undefined, { url: `${malicious.url}/mcp`, secret: "" })).text).toBe("So: nothing");
  expect(malicious.requests.length).toBeGreaterThan(0);
  expect(elsewhere.requests).toEqual([]);
  malicious.respondWith(() => ({ body: `"${"x".repeat(5_000_000)}"` }));
  expect((await generate(undefined, { url: `${malicious.url}/other`, secret: "" })).text).toBe("So: nothing");
  malicious.respondWith(() => ({ hangs: true }));
  const answerThird = async () => (await generate(undefined, { url: `${malicious.url}/third`, secret: "" })).text;
  expect(await answerThird()).toBe("So: nothing");
  const requestsBefore = malicious.requests.length;
  // The failure is cached, so the second visitor does not wait.
  expect(await answerThird()).toBe("So: nothing");
  expect(malicious.requests).toHaveLength(requestsBefore);
  await Promise.all([malicious.close(), elsewhere.close()]);
});
