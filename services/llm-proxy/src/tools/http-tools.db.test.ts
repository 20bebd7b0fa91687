import { randomUUID } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Role, type ToolSchema } from "@parley/rpc/llm";
import {
  type FakeProvider,
  freePort,
  type ReceivedRequest,
  type Reply,
  startFakeProvider,
  startToolServer,
  type ToolServer,
} from "@parley/test-support";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually, startTestProxy, statusOf, type TestProxy } from "../testing/llm-proxy.ts";

const SECRET = "sk-tool";

let provider: FakeProvider;
let other: FakeProvider;
let server: ToolServer;
let proxy: TestProxy;
beforeAll(async () => {
  [provider, other, server] = await Promise.all([startFakeProvider(), startFakeProvider(), startToolServer()]);
  proxy = await startTestProxy({
    environment: { TOOL_KEY: SECRET, EGRESS_ALLOW: "127.0.0.1" },
    config: `
      default_model: fake:default
      tools: { timeout_ms: 1500, max_rounds: 3, max_calls: 4, max_result_bytes: 1024 }
      tool_secrets:
        orders: { env: TOOL_KEY, hosts: ["${server.url}"], workspaces: ["ws_test"] }
        keyed: { env: TOOL_KEY, hosts: ["${server.url}"], workspaces: ["*"], header: X-Api-Key }
        elsewhere: { env: TOOL_KEY, hosts: ["api.example.com"], workspaces: ["*"] }
      providers:
        fake:
          base_url: ${provider.url}
          retries: { max_attempts: 2, base_delay_ms: 1 }
          prices: { default: { input: 1000, output: 2000 } }
          breaker: { failures: 1000 }
        other: { base_url: ${other.url} }
      routes: { pair: ["fake:default", "other:default"] }
    `,
  });
});
afterAll(async () => {
  await proxy.drop();
  await Promise.all([provider.close(), other.close(), server.close()]);
});
afterEach(() => {
  provider.reset();
  other.reset();
  server.requests.length = 0;
});
beforeEach(() => server.respondWith(() => ({ body: '{"state":"sent"}' })));

type ToolInit = MessageInitShape<typeof ToolSchema>;
type OrderToolOptions = { method?: string; url?: string; parameters?: object; secret?: string; name?: string };

const createOrderTool = ({
  method = "GET",
  url = "/orders/{id}",
  parameters,
  secret = "",
  name = "order",
}: OrderToolOptions = {}): ToolInit => ({
  name,
  secret,
  kind: {
    case: "http",
    value: {
      description: "Finds an order.",
      method,
      url: url.startsWith("http") ? url : server.url + url,
      parameters: JSON.stringify({
        type: "object",
        properties: parameters ?? { id: { type: "string" }, lang: { type: "string" } },
        required: ["id"],
      }),
    },
  },
});

type Message = { role: string; content: string | null; tool_call_id?: string; tool_calls?: unknown[] };
const messagesOf = (request: ReceivedRequest | undefined) =>
  (request?.body as { messages: Message[] } | undefined)?.messages ?? [];
const lastMessageOf = (request: ReceivedRequest | undefined) => messagesOf(request).at(-1);
const hasToolResult = ({ body }: ReceivedRequest) => (body as { messages: Message[] }).messages.at(-1)?.role === "tool";

/** Scripts a model that calls tools and then repeats the last result. */
function scriptCalls(...calls: { name: string; arguments: string }[]): void {
  provider.script((request) =>
    hasToolResult(request) ? { tokens: ["So: ", lastMessageOf(request)?.content ?? ""] } : { toolCalls: calls },
  );
}

function generate(
  tool: ToolInit | ToolInit[],
  options: { workspaceId?: string; turnId?: string; signal?: AbortSignal; model?: string } = {},
) {
  const tools = Array.isArray(tool) ? tool : [tool];
  return proxy.generate({ ...options, prompt: { tools, messages: [{ role: Role.USER, content: "Where is it?" }] } });
}

describe("an HTTP tool", () => {
  test("is offered with its schema and called with the model's arguments, and its result goes to the model with the role tool", async () => {
    scriptCalls({ name: "order", arguments: '{"id":"A 7","lang":"de"}' });
    const events = await generate(createOrderTool());
    expect(statusOf(events)).toBe("COMPLETE");
    expect(events.text).toBe('So: {"state":"sent"}');
    expect(server.requests).toMatchObject([{ method: "GET", url: "/orders/A%207?lang=de", body: "" }]);
    const [first, second] = provider.requests;
    expect(first?.body).toMatchObject({
      tools: [
        {
          type: "function",
          function: { name: "order", description: "Finds an order.", parameters: { required: ["id"] } },
        },
      ],
    });
    expect(messagesOf(second).slice(-2)).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "call_0", type: "function", function: { name: "order", arguments: '{"id":"A 7","lang":"de"}' } },
        ],
      },
      { role: "tool", tool_call_id: "call_0", content: '{"state":"sent"}' },
    ]);
    expect(messagesOf(first)[0]).toMatchObject({ role: "system", content: expect.stringContaining("is data") });
    expect(events.toolCalls).toMatchObject([
      { name: "order", arguments: '{"id":"A 7","lang":"de"}', status: "ok", latencyMs: expect.any(Number) },
    ]);
  });

  test("is called in rounds whose tokens and costs are summed, and the call log has each attempt", async () => {
    scriptCalls({ name: "order", arguments: '{"id":"1"}' }, { name: "order", arguments: '{"id":"2"}' });
    server.respondWith(() => ({ body: "{}", delayMs: 400 }));
    const turnId = randomUUID();
    const { end, toolCalls } = await generate(createOrderTool(), { turnId });
    expect(toolCalls.map((call) => call.status)).toEqual(["ok", "ok"]);
    expect(end).toMatchObject({ tokensIn: 42, tokensOut: 68, attempts: 2, tokensEstimated: false });
    const [row] = await proxy.rowsOf("ws_test", turnId);
    expect(row).toMatchObject({
      rounds: 2,
      toolCalls: 2,
      attempts: provider.requests.length,
      cost: "0.1780000000",
      outcome: "complete",
    });
    // Both calls ran at the same time.
    expect(row?.toolsMs).toBeGreaterThanOrEqual(399);
    expect(row?.toolsMs).toBeLessThan(800);
    expect(toolCalls.map((call) => call.roundLatencyMs)).toEqual([row?.toolsMs, 0]);
    expect(row?.tries).toHaveLength(2);
  });

  test("sends the arguments of a POST as JSON and the declared secret in a header, and the secret is redacted from the result", async () => {
    scriptCalls({ name: "order", arguments: '{"id":"7","lang":"de"}' });
    server.respondWith(({ headers }) => ({ body: JSON.stringify({ echo: headers.authorization }) }));
    const events = await generate(createOrderTool({ method: "POST", secret: "orders" }));
    expect(server.requests).toMatchObject([
      {
        method: "POST",
        url: "/orders/7",
        body: '{"lang":"de"}',
        headers: { authorization: `Bearer ${SECRET}`, "content-type": "application/json" },
      },
    ]);
    expect(events.text).toBe('So: {"echo":"Bearer [secret]"}');
    expect(JSON.stringify(provider.requests)).not.toContain(SECRET);
  });

  test("withholds a result that contains the secret in an encoded form, from the model and from the transcript", async () => {
    scriptCalls({ name: "order", arguments: '{"id":"7"}' });
    const echo = Buffer.from(`user:${SECRET}`).toString("base64");
    server.respondWith(() => ({ body: JSON.stringify({ echo }) }));
    const events = await generate(createOrderTool({ secret: "orders" }));
    expect(events.toolCalls).toMatchObject([{ status: "failed" }]);
    expect(events.text).toBe("So: Error: the tool's result is withheld, because it contains a secret");
    expect(JSON.stringify(provider.requests)).not.toContain(echo);
  });

  // Some servers ignore case, and PHP stores `scope[]` as scope and `x.scope` as x_scope.
  test.each([
    ["scope", "/orders/{id}?scope=own"],
    ["Scope", "/orders/{id}?scope=own"],
    ["scope[]", "/orders/{id}?scope=own"],
    ["x.scope", "/orders/{id}?x_scope=own"],
  ])("keeps the URL's query parameter when the model sends %s", async (name, url) => {
    scriptCalls({ name: "order", arguments: JSON.stringify({ id: "7", [name]: "all", lang: "de" }) });
    await generate(createOrderTool({ url, parameters: { id: {}, lang: {}, [name]: {} } }));
    expect(server.requests).toMatchObject([{ url: `${url.replace("{id}", "7")}&lang=de` }]);
  });

  test("is not called when the arguments contain a field that the schema does not describe", async () => {
    scriptCalls({ name: "order", arguments: '{"id":"7","role":"admin"}' });
    const { toolCalls } = await generate(createOrderTool({ method: "POST" }));
    expect(toolCalls).toMatchObject([{ status: "invalid_arguments" }]);
    expect(server.requests).toEqual([]);
  });

  test.each([
    ["ISO 8859-1", "text/plain; charset=ISO-8859-1", Buffer.from("Köln", "latin1")],
    ["Shift_JIS", "application/json; charset=shift_jis", Buffer.from([0x93, 0xfa, 0x96, 0x7b])],
    ["UTF-16 with a byte order mark", "text/plain", Buffer.from("\uFEFFKöln", "utf16le")],
    ["XML's declaration", "text/xml", Buffer.from('<?xml version="1.0" encoding="latin1"?><c>Köln</c>', "latin1")],
    ["an HTML meta element", "text/html", Buffer.from('<meta charset="windows-1252"><p>Köln', "latin1")],
  ])("decodes a response in the charset of %s", async (_, contentType, body) => {
    scriptCalls({ name: "order", arguments: '{"id":"7"}' });
    server.respondWith(() => ({ headers: { "content-type": contentType }, body }));
    const events = await generate(createOrderTool());
    expect(events.toolCalls).toMatchObject([{ status: "ok" }]);
    expect(events.text).toMatch(/Köln|日本/);
  });

  test("fails when the response has an unknown charset", async () => {
    scriptCalls({ name: "order", arguments: '{"id":"7"}' });
    server.respondWith(() => ({ headers: { "content-type": "text/plain; charset=klingon" }, body: "x" }));
    const events = await generate(createOrderTool());
    expect(events.toolCalls).toMatchObject([{ status: "failed" }]);
    expect(events.text).toBe("So: Error: the tool's result has an unknown charset");
  });

  test("sends a secret in the configured header", async () => {
    scriptCalls({ name: "order", arguments: '{"id":"7"}' });
    await generate(createOrderTool({ secret: "keyed" }));
    expect(server.requests[0]?.headers).toMatchObject({ "x-api-key": SECRET });
  });
});

describe("a call is refused without details for the model", () => {
  test.each([
    ["when its secret is not declared", { secret: "unknown" }, {}],
    ["when its secret is declared for another host", { secret: "elsewhere" }, {}],
    ["when its secret is declared for another workspace", { secret: "orders" }, { workspaceId: "ws_other" }],
  ])("%s", async (_, http, options) => {
    scriptCalls({ name: "order", arguments: '{"id":"7"}' });
    const events = await generate(createOrderTool(http), options);
    expect(events.toolCalls).toMatchObject([{ status: "not_allowed" }]);
    expect(events.text).toBe("So: Error: the tool is not available");
    expect(server.requests).toEqual([]);
  });
});

test("a call to an address that is not permitted fails like a call to a name without an address or to a closed port", async () => {
  const closedPort = await freePort();
  const urls = [
    "http://127.0.0.2:65000/{id}",
    "http://169.254.169.254/{id}",
    "http://no-such-host.invalid/{id}",
    `http://127.0.0.1:${closedPort}/{id}`,
  ];
  for (const url of urls) {
    scriptCalls({ name: "order", arguments: '{"id":"7"}' });
    const events = await generate(createOrderTool({ url }));
    expect(events.toolCalls, url).toMatchObject([{ status: "failed" }]);
    expect(events.text, url).toBe("So: Error: the tool cannot be reached");
  }
  expect(server.requests).toEqual([]);
});

test("a redirect is not followed, because the secret would be sent elsewhere", async () => {
  const elsewhere = await startToolServer();
  scriptCalls({ name: "order", arguments: '{"id":"7"}' });
  server.respondWith(() => ({ status: 307, headers: { location: `${elsewhere.url}/` } }));
  for (const method of ["GET", "POST"]) {
    const events = await generate(createOrderTool({ secret: "orders", method }));
    expect(events.toolCalls).toMatchObject([{ status: "failed" }]);
  }
  expect(elsewhere.requests).toEqual([]);
  await elsewhere.close();
});

describe("a failed call is a result for the model, not an error for the visitor, after", () => {
  const good = '{"id":"7"}';
  const nested = (arrays: number) => `{"id":${"[".repeat(arrays)}${"]".repeat(arrays)}}`;
  test.each<[string, string, string, Parameters<ToolServer["respondWith"]>[0] | undefined, string, string]>([
    ["an HTTP error status", "order", good, () => ({ status: 500, body: "no luck" }), "failed", "HTTP 500: no luck"],
    ["no response in time", "order", good, () => ({ hangs: true }), "timeout", "in time"],
    ["too large a result", "order", good, () => ({ body: "x".repeat(2_000) }), "too_large", "too large"],
    [
      "a result that is not text",
      "order",
      good,
      () => ({ headers: { "content-type": "image/png" }, body: "x" }),
      "failed",
      "not text",
    ],
    ["arguments that violate the schema", "order", '{"id":7}', undefined, "invalid_arguments", "must be string"],
    ["arguments that are missing", "order", "", undefined, "invalid_arguments", "required property 'id'"],
    ["arguments that change the path", "order", '{"id":".."}', undefined, "invalid_arguments", "must not be only dots"],
    ["dots before a semicolon", "order", '{"id":"..;v=1"}', undefined, "invalid_arguments", "before a semicolon"],
    [
      "three percent-encodings",
      "order",
      '{"id":"%25252e"}',
      undefined,
      "invalid_arguments",
      "percent-encoded more than twice",
    ],
    ["a lone surrogate", "order", '{"id":"\\ud800"}', undefined, "invalid_arguments", "invalid Unicode"],
    ["a full-width slash", "order", '{"id":"a\uff0fb"}', undefined, "invalid_arguments", "in any encoding or form"],
    ["arguments that are not JSON", "order", '{"id":', undefined, "invalid_arguments", "not a JSON object"],
    ["arguments that are not an object", "order", "[1]", undefined, "invalid_arguments", "not a JSON object"],
    ["arguments above the limit", "order", `{"id":"${"7".repeat(16_384)}"}`, undefined, "invalid_arguments", "16384"],
    ["arguments of 33 levels", "order", nested(32), undefined, "invalid_arguments", "more than 32 levels"],
    ["arguments of 8,000 levels", "order", nested(7_999), undefined, "invalid_arguments", "more than 32 levels"],
    [
      "a number that JSON cannot hold",
      "order",
      '{"id":1e400}',
      undefined,
      "invalid_arguments",
      "too many digits: 1e400",
    ],
    [
      "an id whose last digits would be lost",
      "order",
      '{"id":"7","lang":[-12345678901234567891]}',
      undefined,
      "invalid_arguments",
      "too many digits: -12345678901234567891",
    ],
    ["an unknown tool", "refund", good, undefined, "unknown_tool", "no tool of this name"],
  ])("%s", async (_, name, args, respond, status, message) => {
    scriptCalls({ name, arguments: args });
    if (respond !== undefined) server.respondWith(respond);
    const events = await generate(createOrderTool());
    expect(statusOf(events)).toBe("COMPLETE");
    expect(events.toolCalls).toMatchObject([{ name, status }]);
    expect(lastMessageOf(provider.requests[1])).toMatchObject({
      role: "tool",
      content: expect.stringContaining(message),
    });
    if (respond === undefined) expect(server.requests).toEqual([]);
  });

  test("an unreachable server", async () => {
    const gone = await startToolServer();
    await gone.close();
    scriptCalls({ name: "order", arguments: good });
    const events = await generate(createOrderTool({ url: `${gone.url}/{id}` }));
    expect(events.toolCalls).toMatchObject([{ status: "failed" }]);
    expect(events.text).toBe("So: Error: the tool cannot be reached");
  });
});

describe("a model that keeps calling tools", () => {
  const calling = { toolCalls: [{ name: "order", arguments: '{"id":"7"}' }] };
  const mustAnswerWithoutTools = ({ body }: ReceivedRequest) =>
    (body as { tool_choice?: string }).tool_choice === "none";

  test("must reply without tools after `max_rounds` rounds of tool calls", async () => {
    provider.script((request) => (mustAnswerWithoutTools(request) ? { tokens: ["Done."] } : calling));
    const events = await generate(createOrderTool());
    expect([statusOf(events), events.text]).toEqual(["COMPLETE", "Done."]);
    expect(events.toolCalls).toHaveLength(3);
    expect(provider.requests).toHaveLength(4);
  });

  test("fails when it calls tools after `max_rounds` rounds of tool calls", async () => {
    provider.script(() => calling);
    const turnId = randomUUID();
    const events = await generate(createOrderTool(), { turnId });
    expect([statusOf(events), provider.requests.length]).toEqual(["PROVIDER_ERROR", 4]);
    expect((await proxy.rowsOf("ws_test", turnId))[0]).toMatchObject({ reason: "tool_calls", toolCalls: 3, rounds: 4 });
  });

  test("cannot call a tool after a pattern has matched its text", async () => {
    provider.script(() => ({ tokens: ["The word is secret, and much may follow."], ...calling }));
    const turnId = randomUUID();
    const prompt = {
      tools: [createOrderTool()],
      replyPatterns: [{ pattern: "secret", verdict: { reason: "leak", fallback: "No." } }],
      messages: [{ role: Role.USER, content: "Where is order 7?" }],
    };
    const events = await proxy.generate({ turnId, prompt });
    expect([statusOf(events), events.toolCalls]).toEqual(["BLOCKED", []]);
    expect("The word is ".startsWith(events.text), events.text).toBe(true);
    expect([provider.requests.length, server.requests.length]).toEqual([1, 0]);
    expect((await proxy.rowsOf("ws_test", turnId))[0]).toMatchObject({ outcome: "blocked", toolCalls: 0, rounds: 1 });
  });

  test("cannot call tools more than `max_calls` times per reply", async () => {
    provider.script((request) =>
      hasToolResult(request)
        ? { tokens: ["Done."] }
        : { toolCalls: Array.from({ length: 6 }, () => calling.toolCalls[0] as never) },
    );
    const { toolCalls } = await generate(createOrderTool());
    expect(toolCalls.map((call) => call.status).toSorted((one, two) => one.localeCompare(two))).toEqual([
      "ok",
      "ok",
      "ok",
      "ok",
      "over_limit",
      "over_limit",
    ]);
    expect(server.requests).toHaveLength(4);
    expect(mustAnswerWithoutTools(provider.requests[1] as ReceivedRequest)).toBe(true);
  });
});

describe("failover", () => {
  const calling = { toolCalls: [{ name: "order", arguments: '{"id":"7"}' }] };

  test("passes on the result of a tool call and does not repeat the call", async () => {
    provider.script((request) => (hasToolResult(request) ? { status: 500 } : calling));
    const turnId = randomUUID();
    const events = await generate(createOrderTool(), { model: "route:pair", turnId });
    expect([statusOf(events), events.end.model, events.end.attempts]).toEqual(["COMPLETE", "other:default", 4]);
    expect(server.requests).toHaveLength(1);
    expect(lastMessageOf(other.requests[0])).toMatchObject({ role: "tool", content: '{"state":"sent"}' });
    const [row] = await proxy.rowsOf("ws_test", turnId);
    expect(row?.tries.map(({ model, outcome, next }) => [model, outcome, next])).toEqual([
      ["fake:default", "complete", ""],
      ["fake:default", "provider_error", "retry"],
      ["fake:default", "provider_error", "failover"],
      ["other:default", "complete", ""],
    ]);
    // One of the two models has no price, so the cost is unknown.
    expect(row).toMatchObject({ failovers: 1, rounds: 2, cost: null });
  });

  test("does not happen after the first text, even if a tool call followed", async () => {
    provider.script(
      (request): Reply => (hasToolResult(request) ? { status: 500 } : { ...calling, tokens: ["Let me look. "] }),
    );
    const events = await generate(createOrderTool(), { model: "route:pair" });
    expect([statusOf(events), events.text]).toEqual(["PROVIDER_ERROR", "Let me look. "]);
    expect(other.requests).toEqual([]);
  });
});

test("text before and after a tool call is one reply", async () => {
  provider.script(
    (request): Reply =>
      hasToolResult(request)
        ? { tokens: ["It was sent."] }
        : { tokens: ["Let me look. "], toolCalls: [{ name: "order", arguments: '{"id":"7"}' }] },
  );
  const events = await generate(createOrderTool());
  expect(events.text).toBe("Let me look. It was sent.");
  expect(messagesOf(provider.requests[1]).at(-2)).toMatchObject({ role: "assistant", content: "Let me look. " });
});

test("a cancelled generation ends its tool call within a second, and is in the call log", async () => {
  scriptCalls({ name: "order", arguments: '{"id":"7"}' });
  server.respondWith(() => ({ hangs: true }));
  const caller = new AbortController();
  const turnId = randomUUID();
  const call = generate(createOrderTool(), { signal: caller.signal, turnId });
  await eventually(
    () => server.requests.length,
    (length) => length === 1,
  );
  const cancelledAt = Date.now();
  caller.abort();
  await expect(call).rejects.toMatchObject({ code: "cancelled" });
  const [request] = await eventually(
    () => server.requests,
    ([each]) => each?.closedByClientAt !== undefined,
  );
  expect((request?.closedByClientAt ?? 0) - cancelledAt).toBeLessThan(1_000);
  const [row] = await proxy.rowsOf("ws_test", turnId);
  // The round before the tool call is counted once.
  expect(row).toMatchObject({ outcome: "cancelled", rounds: 1, toolCalls: 1, tokensIn: 21, tokensOut: 34 });
});

test("the built-in model is offered no tools", async () => {
  const events = await generate(createOrderTool(), { model: "builtin:extractive" });
  expect(statusOf(events)).toBe("COMPLETE");
  expect(events.toolCalls).toEqual([]);
});
