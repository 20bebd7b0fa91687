import { randomUUID } from "node:crypto";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ModelSettingsSchema, Role } from "@parley/rpc/llm";
import {
  defaultReplyText,
  type FakeProvider,
  fixedUsage,
  freePort,
  type ReceivedRequest,
  type Reply,
  startFakeProvider,
  startToolServer,
  type ToolServer,
} from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startGoogleCloud } from "../testing/google-cloud.ts";
import { eventually, startTestProxy, statusOf, type TestProxy } from "../testing/llm-proxy.ts";
import { definePortableRows } from "../testing/portable-rows.ts";
import type { TokenService } from "../testing/token-service.ts";

const KEY = "key-of-the-provider";
const SIGNATURE = "c2lnbmF0dXJlLW9mLXRoZS10aG91Z2h0cw==";
const THOUGHTS = { text: "Secret thoughts. ", signature: SIGNATURE };
const PRICE = "{ input: 1000, output: 2000, cached_input: 100 }";

/**
 * By kind: the header with the key, whether the API has signatures of thoughts, a model that thinks with what its request has, and settings that a
 * model is known to refuse, with the name of the setting.
 */
const KINDS = {
  openai: {
    keyHeader: "authorization",
    key: `Bearer ${KEY}`,
    hasSignatures: false,
    thinking: { model: "o4-mini", body: '"reasoning_effort":"low"' },
    // The models of a server that is not OpenAI's are not known.
    refused: undefined,
  },
  azure: {
    keyHeader: "authorization",
    key: `Bearer ${KEY}`,
    hasSignatures: false,
    thinking: { model: "o4-mini", body: '"reasoning_effort":"low"' },
    // The names of deployments do not tell their models.
    refused: undefined,
  },
  anthropic: {
    keyHeader: "x-api-key",
    key: KEY,
    hasSignatures: true,
    thinking: { model: "claude-sonnet-4-5", body: '"thinking":{"type":"enabled"' },
    refused: {
      model: "claude-sonnet-4-5",
      settings: { temperature: 0.5, topP: 0.5 },
      setting: "temperature",
      isLeftOut: true,
    },
  },
  google: {
    keyHeader: "x-goog-api-key",
    key: KEY,
    hasSignatures: true,
    thinking: { model: "gemini-2.5-flash", body: '"thinkingConfig"' },
    refused: {
      model: "gemini-3-pro-preview",
      settings: { reasoningEffort: "none" },
      setting: "reasoning_effort",
      isLeftOut: false,
    },
  },
  mistral: {
    keyHeader: "authorization",
    key: `Bearer ${KEY}`,
    hasSignatures: false,
    thinking: { model: "mistral-small-latest", body: '"reasoning_effort"' },
    refused: { model: "mistral-tiny", settings: { temperature: 1.75 }, setting: "temperature", isLeftOut: true },
  },
  bedrock: {
    keyHeader: "authorization",
    key: `Bearer ${KEY}`,
    hasSignatures: true,
    thinking: { model: "anthropic.claude-sonnet-4-5-20250929-v1:0", body: '"thinking":{"type":"enabled"' },
    refused: {
      model: "amazon.nova-lite-v1:0",
      settings: { temperature: 1.75 },
      setting: "temperature",
      isLeftOut: false,
    },
  },
  vertex: {
    keyHeader: "authorization",
    key: "Bearer token-of-the-cloud",
    hasSignatures: true,
    thinking: { model: "gemini-2.5-flash", body: '"thinkingConfig"' },
    refused: {
      model: "gemini-3-pro-preview",
      settings: { reasoningEffort: "none" },
      setting: "reasoning_effort",
      isLeftOut: false,
    },
  },
} as const;
type Kind = keyof typeof KINDS;
const SIGNS_OF_LIFE: Partial<Record<Kind, string>> = {
  anthropic: 'event: ping\ndata: {"type":"ping"}',
  bedrock: '{"type":"contentBlockDelta","payload":{"contentBlockIndex":0,"delta":{"text":""}}}',
};
type Settings = MessageInitShape<typeof ModelSettingsSchema>;

let provider: FakeProvider;
let other: FakeProvider;
let tools: ToolServer;
let cloud: TokenService;
let proxy: TestProxy;
beforeAll(async () => {
  [provider, other, tools] = await Promise.all([startFakeProvider(), startFakeProvider(), startToolServer()]);
  cloud = await startGoogleCloud();
  const unreachable = `http://127.0.0.1:${await freePort()}/v1`;
  const paths: Record<string, string> = { mistral: "/mistral/v1", azure: "/openai/v1" };
  const urlOf = (kind: string) => provider.url.replace("/v1", paths[kind] ?? "/v1");
  // With an address, Vertex needs neither a project nor a location.
  const keyOf = (kind: string) => (kind === "vertex" ? "headers: {}" : "api_key_env: KEY");
  const providersOf = (kind: string) => `
        ${kind}:
          kind: ${kind}
          base_url: ${urlOf(kind)}
          ${keyOf(kind)}
          max_output_tokens: 500
          timeouts: { first_token_ms: 700, silence_ms: 700 }
          retries: { max_attempts: 2, base_delay_ms: 1 }
          breaker: { failures: 1000 }
          prices: { "*": ${PRICE} }
        fragile-${kind}:
          kind: ${kind}
          base_url: ${urlOf(kind)}
          ${keyOf(kind)}
          retries: { max_attempts: 1 }
          breaker: { failures: 3, cooldown_ms: 60000 }
        warm-${kind}: { kind: ${kind}, base_url: "${urlOf(kind)}", ${keyOf(kind)}, temperature: 0.3125 }
        thinking-${kind}: { kind: ${kind}, base_url: "${urlOf(kind)}", ${keyOf(kind)}, reasoning_effort: low }
        small-${kind}: { kind: ${kind}, base_url: "${urlOf(kind)}", ${keyOf(kind)}, context_windows: { "*": 1200 } }
        away-${kind}: { kind: ${kind}, base_url: "${unreachable}", ${keyOf(kind)}, retries: { max_attempts: 1 } }`;
  const routesOf = (kind: string) => `
        ${kind}-first: ["${kind}:m", "other:m"]
        ${kind}-second: ["other:m", "${kind}:m"]`;
  proxy = await startTestProxy({
    environment: { KEY, EGRESS_ALLOW: "127.0.0.1" },
    config: `
      providers:
        other: { base_url: "${other.url}", retries: { max_attempts: 1 } }
        ${Object.keys(KINDS).map(providersOf).join("")}
        cold: { kind: vertex, base_url: "${provider.url}", retries: { max_attempts: 1 } }
      routes:
        cold-first: ["cold:m", "other:m"]
        ${Object.keys(KINDS).map(routesOf).join("")}
    `,
  });
});
afterAll(async () => {
  await proxy.drop();
  await Promise.all([provider.close(), other.close(), tools.close(), cloud.close()]);
});
beforeEach(() => {
  provider.reset();
  other.reset();
  tools.requests.length = 0;
  tools.respondWith(() => ({ body: '{"state":"sent"}' }));
});

const bodyOf = (request: ReceivedRequest | undefined) => JSON.stringify(request?.body);

describe.each(Object.keys(KINDS) as Kind[])("the kind %s", (kind) => {
  const { keyHeader, key, hasSignatures, thinking, refused } = KINDS[kind];
  const model = `${kind}:m`;

  /** Runs a generation whose requests get the replies in their order, and returns its messages and its row in the call log. */
  async function generate(
    replies: Reply[],
    { model: asked = model, ...options }: { model?: string; calls?: boolean; settings?: Settings } = {},
  ) {
    provider.script(replies);
    const turnId = randomUUID();
    const messages = [{ role: Role.USER, content: "Where is my order?" }];
    const parameters = JSON.stringify({ type: "object", properties: { id: { type: "string" } }, required: ["id"] });
    const value = { description: "Finds an order.", method: "GET", url: `${tools.url}/orders/{id}`, parameters };
    const tool = { name: "order", secret: "", kind: { case: "http" as const, value } };
    const settings = options.settings && create(ModelSettingsSchema, options.settings);
    const events = await proxy.generate({
      turnId,
      model: asked,
      prompt: {
        ...{ system: "Be kind.", fallback: "No.", messages, tools: options.calls ? [tool] : [] },
        ...(settings && { settings }),
      },
    });
    const [row] = await proxy.rowsOf("ws_test", turnId);
    return { events, row, status: statusOf(events) };
  }

  // Without a limit of the operator and without short timeouts, as for a real provider.
  definePortableRows(() => ({ proxy, tools, model: `warm-${kind}:m`, script: (replies) => provider.script(replies) }));

  test("streams the text, has one end and the provider's counts, and sends the key in the API's own header", async () => {
    const { events, row, status } = await generate([{ everyMs: 20 }]);
    expect(status).toBe("COMPLETE");
    expect(events.text).toBe(defaultReplyText);
    expect(events.texts.length).toBeGreaterThan(2);
    expect([row?.tokensIn, row?.tokensOut, row?.estimated]).toEqual([
      fixedUsage.prompt_tokens,
      fixedUsage.completion_tokens,
      false,
    ]);
    expect(Number(row?.cost)).toBeCloseTo(
      (fixedUsage.prompt_tokens * 1_000 + fixedUsage.completion_tokens * 2_000) / 1e6,
    );
    const [request] = provider.requests;
    expect(request?.headers[keyHeader]).toBe(key);
    expect(request?.headers["accept-encoding"]).toBe("identity");
    expect(bodyOf(request)).toMatch(/Be kind\..*Where is my order\?|Where is my order\?.*Be kind\./);
    expect(bodyOf(request)).toContain("500");
  });

  test("counts the tokens that the provider read from its cache, and uses their price", async () => {
    const { row } = await generate([{ cachedTokens: 10 }]);
    expect([row?.tokensIn, row?.tokensCached]).toEqual([fixedUsage.prompt_tokens, 10]);
    const expected = (fixedUsage.prompt_tokens - 10) * 1_000 + 10 * 100 + fixedUsage.completion_tokens * 2_000;
    expect(Number(row?.cost)).toBeCloseTo(expected / 1e6);
  });

  test("sends the temperature and the reasoning effort of the settings", async () => {
    expect((await generate([{}], { model: `warm-${kind}:m` })).status).toBe("COMPLETE");
    expect((await generate([{}], { model: `thinking-${kind}:${thinking.model}` })).status).toBe("COMPLETE");
    const [warm, effort] = provider.requests.map(bodyOf);
    expect(warm).toContain('"temperature":0.3125');
    expect(effort).toContain(thinking.body);
  });

  test("the bot's settings win over the provider's, and cannot raise the provider's limit of tokens", async () => {
    const ofBot = (settings: Settings) => generate([{}], { model: `warm-${kind}:m`, settings });
    await ofBot({ temperature: 0.4375 });
    await generate([{}], { settings: { maxOutputTokens: 123 } });
    await generate([{}], { settings: { maxOutputTokens: 7_777 } });
    await generate([{}], { settings: { topP: 0.8125 } });
    const [warm, short, long, probable] = provider.requests.map(bodyOf);
    expect(warm).toContain('"temperature":0.4375');
    expect(warm).not.toContain("0.3125");
    expect(short).toMatch(/:123[,}]/);
    expect(long).not.toMatch(/7777/);
    expect(long).toMatch(/:500[,}]/);
    expect(probable).toMatch(/"top_?P":0\.8125/i);
  });

  test("sends the same request with an empty message of settings as without one", async () => {
    await generate([{}]);
    await generate([{}], { settings: {} });
    const [without, empty] = provider.requests.map(bodyOf);
    expect(empty).toBe(without);
  });

  test("accepts settings that its models accept, and refuses those above the operator's limit", async () => {
    const thinker = `warm-${kind}:${thinking.model}`;
    expect(await proxy.checkModelSettings(`thinking-${kind}:${thinking.model}`, { maxOutputTokens: 900 })).toBe("");
    expect(await proxy.checkModelSettings(thinker, { temperature: 0.5 })).toBe("");
    expect(await proxy.checkModelSettings(`${kind}:${thinking.model}`, { maxOutputTokens: 501 })).toBe(
      `${kind}:${thinking.model}: max_output_tokens must be at most 500, the operator's limit`,
    );
    expect(provider.requests).toEqual([]);
  });

  test.skipIf(refused === undefined)("refuses to store settings that a model does not accept", async () => {
    const { model: name = "", settings = {}, setting = "" } = refused ?? {};
    const problem = await proxy.checkModelSettings(`warm-${kind}:${name}`, settings);
    expect(problem).toMatch(new RegExp(`^warm-${kind}:${name}: .*${setting}`));
    expect(provider.requests).toEqual([]);
  });

  test.skipIf(!refused?.isLeftOut)(
    "refuses a reply whose request would lack a setting, with the setting's name",
    async () => {
      const { model: name = "", settings = {}, setting = "" } = refused ?? {};
      const { row, status } = await generate([{}], { model: `fragile-${kind}:${name}`, settings });
      expect([status, row?.reason, row?.attempts]).toEqual(["PROVIDER_ERROR", "unsupported_setting", 0]);
      expect(row?.tries[0]).toMatchObject({ providerCode: setting, next: "end" });
      expect(provider.requests).toEqual([]);
    },
  );

  test("shortens the history to the model's context window", async () => {
    const exchanges = Array.from({ length: 40 }, (_, number) => [
      { role: Role.USER, content: `Question ${number}: ${"what is this? ".repeat(5)}` },
      { role: Role.ASSISTANT, content: `Answer ${number}.` },
    ]);
    const messages = [...exchanges.flat(), { role: Role.USER, content: "And now?" }];
    for (const name of ["small", "warm"]) await proxy.generate({ model: `${name}-${kind}:m`, prompt: { messages } });
    const [shortened, whole] = provider.requests.map(bodyOf);
    expect(whole).toMatch(/Question 0:.*Question 39:.*And now\?/);
    expect(shortened).not.toContain("Question 0:");
    expect(shortened).toMatch(/Question 39:.*And now\?/);
  });

  test("uses one connection for completions that follow each other", async () => {
    for (let i = 0; i < 3; i++) expect((await generate([{}])).status).toBe("COMPLETE");
    expect(provider.closedByClient()).toEqual([]);
  });

  test("keeps characters whole that the bytes of the stream split", async () => {
    const tokens = ["Grüße", " 👋🏽", " 日本語"];
    expect((await generate([{ tokens, bytesPerWrite: 1 }])).events.text).toBe(tokens.join(""));
  });

  test("does not show thoughts", async () => {
    const { events, status } = await generate([{ thoughts: THOUGHTS, tokens: ["42"] }]);
    expect([status, events.text]).toEqual(["COMPLETE", "42"]);
  });

  test("ends a completion at the token limit as complete, with the detail", async () => {
    const { events, row, status } = await generate([{ tokens: ["Half a"], finishReason: "length" }]);
    expect([status, events.text, row?.finishDetail]).toEqual(["COMPLETE", "Half a", "length"]);
  });

  test("ends a refusal as blocked with the bot's fallback", async () => {
    const { events, status } = await generate([{ tokens: ["I"], finishReason: "content_filter" }]);
    expect([status, events.end.blocked?.fallback]).toEqual(["BLOCKED", "No."]);
  });

  test("tries a completion without text again", async () => {
    const { row, status } = await generate([{ tokens: [] }, { tokens: [] }]);
    expect([status, row?.reason]).toEqual(["PROVIDER_ERROR", "no_text"]);
  });

  describe.each(["end", "cut"] as const)("a stream with the fault %s", (fault) => {
    test("is retried before its first text", async () => {
      const { events, row, status } = await generate([{ fault, afterTokens: 0 }, { tokens: ["Hello"] }]);
      expect([status, events.text, row?.attempts]).toEqual(["COMPLETE", "Hello", 2]);
      expect(row?.tries[0]).toMatchObject({ reason: "truncated", next: "retry" });
    });

    test("ends the generation with an error after its first text", async () => {
      const { events, row, status } = await generate([{ fault, afterTokens: 2 }]);
      expect([status, events.text, row?.reason, row?.attempts]).toEqual([
        "PROVIDER_ERROR",
        "Hello from",
        "truncated",
        1,
      ]);
    });
  });

  test("a stream without a finish reason is an error", async () => {
    const { row, status } = await generate([{ tokens: ["Hello"], finishReason: null, hasDone: false }]);
    expect([status, row?.reason]).toEqual(["PROVIDER_ERROR", "truncated"]);
  });

  test("an error event in the stream fails over before the first text, and is an error after it", async () => {
    const { events } = await generate(
      [
        { fault: "error", afterTokens: 0 },
        { fault: "error", afterTokens: 0 },
      ],
      {
        model: `route:${kind}-first`,
      },
    );
    expect(events.end.model).toBe("other:m");
    provider.reset();
    const { status, row } = await generate([{ everyMs: 50, fault: "error", afterTokens: 2 }]);
    expect([status, row?.attempts]).toEqual(["PROVIDER_ERROR", 1]);
  });

  const events = { "content-type": "text/event-stream" };
  test.each([
    ["an event that is not JSON", events, 'data: {"a\n\n', "malformed"],
    ["a damaged line", events, 'd\u0001ta: {"type":"ping"}\n\ndata: {}\n\n', "malformed"],
    ["an HTML page", { "content-type": "text/html" }, "<title>Welcome</title>", "not_a_stream"],
  ])("a response with %s is an error", async (_, headers, body, reason) => {
    const { row, status } = await generate([{ headers, body }]);
    expect([status, row?.reason]).toEqual(["PROVIDER_ERROR", reason]);
  });

  test("an aborted generation closes the connection within a second, before and after the first text", async () => {
    for (const reply of [{ hangs: true }, { fault: "stall" as const, afterTokens: 1 }]) {
      provider.reset();
      provider.script([reply]);
      const controller = new AbortController();
      const aborted = proxy.generate({ model: `fragile-${kind}:m`, signal: controller.signal }).catch(() => undefined);
      await eventually(
        () => provider.requests[0],
        (request) => request !== undefined && (reply.hangs === true || request.tokensSent === 1),
      );
      const abortedAt = Date.now();
      controller.abort();
      await eventually(
        () => provider.closedByClient(),
        (closed) => closed.length === 1,
      );
      expect((provider.requests[0]?.closedByClientAt ?? 0) - abortedAt).toBeLessThan(1_000);
      await aborted;
    }
  });

  test("stops reading while the caller does not read", async () => {
    provider.script(() => ({ tokens: Array.from({ length: 4_000 }, () => "x".repeat(16 * 1024)) }));
    let deltas = 0;
    for await (const { event } of proxy.openStream({ model })) {
      if (event.case !== "delta") continue;
      // Longer than the silence timeout, which must not count the caller's pause.
      if (++deltas === 1) await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(provider.requests[0]?.tokensSent).toBeLessThan(2_000);
      if (deltas === 20) break;
    }
    await eventually(
      () => provider.closedByClient().length,
      (closed) => closed === 1,
    );
  });

  test.each([
    ["the first token", { hangs: true }, "first_token_timeout"],
    ["more text", { fault: "stall", afterTokens: 1 }, "silence_timeout"],
  ] as const)("times out while it waits for %s", async (_, reply, reason) => {
    const { row, status } = await generate([reply, reply]);
    expect([status, row?.reason]).toEqual(["PROVIDER_TIMEOUT", reason]);
  });

  test("does not time out while the provider shows signs of life without text", async () => {
    const preamble = Array.from({ length: 5 }, () => SIGNS_OF_LIFE[kind] ?? ": still working");
    const { events, row, status } = await generate([{ preamble, everyMs: 400, tokens: ["42"] }]);
    expect([status, events.text, row?.attempts]).toEqual(["COMPLETE", "42", 1]);
  });

  test("the breaker opens after failures in a row, and then sends no request", async () => {
    const replies = Array.from({ length: 3 }, () => ({ status: 500 }));
    provider.script(replies);
    for (let i = 0; i < 3; i++) await proxy.generate({ model: `fragile-${kind}:m` });
    const { row } = await generate([], { model: `fragile-${kind}:m` });
    expect([row?.reason, provider.requests.length]).toEqual(["breaker_open", 3]);
  });

  test("waits for Retry-After after 429, and does not wait too long", async () => {
    const { row, status } = await generate([{ status: 429, headers: { "retry-after": "1" } }, {}]);
    expect([status, row?.attempts]).toEqual(["COMPLETE", 2]);
    const [first, second] = provider.requests;
    expect((second?.receivedAt ?? 0) - (first?.receivedAt ?? 0)).toBeGreaterThanOrEqual(1_000);
    const late = await generate([{ status: 429, headers: { "retry-after": "60" } }]);
    expect([late.status, late.row?.attempts]).toEqual(["PROVIDER_RATE_LIMITED", 1]);
  });

  test("fails over before the first text, in both directions", async () => {
    const first = await generate([{ status: 401 }], { model: `route:${kind}-first` });
    expect([first.status, first.events.end.model, first.row?.failovers]).toEqual(["COMPLETE", "other:m", 1]);
    other.script([{ status: 401 }]);
    const second = await generate([{}], { model: `route:${kind}-second` });
    expect([second.status, second.events.end.model, second.events.text]).toEqual(["COMPLETE", model, defaultReplyText]);
  });

  test("reports an unreachable provider as a connect error", async () => {
    const { row, status } = await generate([], { model: `away-${kind}:m` });
    expect([status, row?.reason]).toEqual(["PROVIDER_ERROR", "connect"]);
  });

  test("has the provider's status, code and message in the call log, without the key and the request's texts", async () => {
    const error = { type: "invalid_request_error", code: 400, message: `Invalid order of roles. Key ${KEY}, Zlatan` };
    const body = JSON.stringify({ type: "error", error });
    const { row } = await generate([{ status: 400, headers: { "content-type": "application/json" }, body }]);
    expect(row?.tries[0]).toMatchObject({ providerStatus: 400, providerCode: "invalid_request_error" });
    expect(row?.tries[0]?.providerMessage).toContain("Invalid");
    // Vertex has no key.
    if (kind !== "vertex") expect(JSON.stringify(row)).not.toContain(KEY);
  });

  test("calls tools over rounds, and gets its messages back as it sent them", async () => {
    const calling = (id: string): Reply => ({
      thoughts: THOUGHTS,
      toolCalls: [{ name: "order", arguments: JSON.stringify({ id }) }],
    });
    const { events, row, status } = await generate([calling("A1"), calling("B2"), { tokens: ["Sent."] }], {
      calls: true,
    });
    expect([status, events.text, row?.rounds, row?.toolCalls]).toEqual(["COMPLETE", "Sent.", 3, 2]);
    expect(tools.requests.map(({ url }) => url)).toEqual(["/orders/A1", "/orders/B2"]);
    expect(row?.tokensIn).toBe(3 * fixedUsage.prompt_tokens);
    const last = bodyOf(provider.requests[2]);
    expect(last.split("state").length - 1).toBe(2);
    if (hasSignatures) expect(last.split(SIGNATURE).length - 1).toBe(2);
    expect(bodyOf(provider.requests[0])).not.toContain("Secret thoughts");
    expect(JSON.stringify(events.toolCalls)).not.toContain(SIGNATURE);
    expect(JSON.stringify(row)).not.toContain(SIGNATURE);
  });

  test("calls several tools in one round, each without arguments of the others", async () => {
    const toolCalls = ["A1", "B2", "C3"].map((id) => ({ name: "order", arguments: JSON.stringify({ id }) }));
    const { row, status } = await generate([{ toolCalls }, { tokens: ["All."] }], { calls: true });
    expect([status, row?.toolCalls]).toEqual(["COMPLETE", 3]);
    expect(tools.requests.map(({ url }) => url).sort()).toEqual(["/orders/A1", "/orders/B2", "/orders/C3"]);
  });

  test("another model of the route gets the calls and their results, but no thoughts and no signatures", async () => {
    const calling: Reply = { thoughts: THOUGHTS, toolCalls: [{ name: "order", arguments: '{"id":"A1"}' }] };
    const { events, status } = await generate([calling, { status: 400 }], {
      model: `route:${kind}-first`,
      calls: true,
    });
    expect([status, events.end.model]).toEqual(["COMPLETE", "other:m"]);
    const body = bodyOf(other.requests[0]);
    expect(body).toContain("sent");
    expect(body).not.toMatch(/Secret thoughts|c2lnbmF0dXJl/);
  });

  test("continues the tool calls of another model", async () => {
    other.script([{ toolCalls: [{ name: "order", arguments: '{"id":"A1"}' }] }, { status: 400 }]);
    const { events, status } = await generate([{ tokens: ["Sent."] }], { model: `route:${kind}-second`, calls: true });
    expect([status, events.end.model, events.text]).toEqual(["COMPLETE", model, "Sent."]);
    expect(bodyOf(provider.requests[0])).toContain("sent");
  });
});

test("Anthropic's requests mark the instructions and the passages for its cache", async () => {
  await proxy.generate({
    model: "anthropic:m",
    prompt: {
      system: "Be kind.",
      passages: [{ id: 1n, source: "faq.md", text: "We ship on Mondays." }],
      messages: [{ role: Role.USER, content: "When?" }],
    },
  });
  const body = provider.requests[0]?.body as { system: { text: string; cache_control?: object }[] } | undefined;
  expect(body?.system.map(({ text, cache_control: mark }) => [text.includes("Mondays"), mark])).toEqual([
    [false, { type: "ephemeral" }],
    [true, { type: "ephemeral" }],
  ]);
});

/** 25 conversations that differ in their length, endings and tool calls: the replies of the provider to the requests of each. */
const CONVERSATIONS: Reply[][] = Array.from({ length: 25 }, (_, number): Reply[] => {
  const calls = Array.from({ length: (number % 3) + 1 }, (_call, index) => ({
    name: "order",
    arguments: JSON.stringify({ id: `${number}-${index}` }),
  }));
  const answer: Reply = {
    tokens: [`Answer ${number}.`, " Grüße", " 👋"],
    finishReason: number % 7 === 3 ? "length" : "stop",
  };
  if (number % 5 === 4) return [{ tokens: ["No"], finishReason: "content_filter" }];
  if (number % 5 === 3) return [{ tokens: ["Part", " of"], everyMs: 30, fault: "cut" }];
  if (number % 5 === 2) return [{ thoughts: THOUGHTS, toolCalls: calls }, { toolCalls: calls.slice(0, 1) }, answer];
  return number % 5 === 1 ? [{ status: 503 }, { thoughts: THOUGHTS, ...answer }] : [answer];
});

test("25 conversations have the same texts, tool calls, ends and counts through each kind", async () => {
  const outcomes = [];
  for (const kind of Object.keys(KINDS)) {
    const transcript = [];
    for (const replies of CONVERSATIONS) {
      provider.script(replies);
      const turnId = randomUUID();
      const parameters = JSON.stringify({ type: "object", properties: { id: { type: "string" } } });
      const value = { description: "Finds an order.", method: "GET", url: `${tools.url}/orders/{id}`, parameters };
      const { text, end, toolCalls } = await proxy.generate({
        turnId,
        // With the default timeouts, which a busy machine keeps.
        model: `warm-${kind}:m`,
        prompt: {
          tools: [{ name: "order", secret: "", kind: { case: "http", value } }],
          messages: [{ role: Role.USER, content: "Hi" }],
        },
      });
      const [row] = await proxy.rowsOf("ws_test", turnId);
      const called = toolCalls.map(({ name, arguments: args, status }) => [name, args, status]);
      const { outcome, reason, finishDetail, attempts, rounds, tokensIn, tokensOut, estimated } = row ?? {};
      const isCut = reason === "truncated";
      const counts = isCut ? [] : [tokensIn, tokensOut, estimated];
      transcript.push({ text, called, status: end.status, outcome, reason, finishDetail, attempts, rounds, counts });
    }
    outcomes.push(transcript);
  }
  const [expected, ...others] = outcomes;
  expect(new Set(expected?.map(({ outcome }) => outcome)).size).toBe(3);
  for (const transcript of others) expect(transcript).toEqual(expected);
}, 120_000);

test("a provider without credentials fails over, without the library's message", async () => {
  cloud.refuse();
  const turnId = randomUUID();
  const events = await proxy.generate({ turnId, model: "route:cold-first" });
  expect(events.end.model).toBe("other:m");
  const [row] = await proxy.rowsOf("ws_test", turnId);
  expect(row?.tries[0]).toMatchObject({ outcome: "provider_auth", reason: "credentials", providerMessage: "" });
});
