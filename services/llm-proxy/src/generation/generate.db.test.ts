import { randomUUID } from "node:crypto";
import { RpcError } from "@parley/rpc";
import { Role } from "@parley/rpc/llm";
import { type FakeProvider, fixedUsage, startFakeProvider } from "@parley/test-support";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually, startTestProxy, statusOf, type TestProxy } from "../testing/llm-proxy.ts";

const KEY = "sk-test";

let provider: FakeProvider;
let proxy: TestProxy;
beforeAll(async () => {
  provider = await startFakeProvider();
  proxy = await startTestProxy({
    environment: { KEY },
    config: `
      default_model: fake:tokens-3
      providers:
        fake:
          base_url: ${provider.url}
          api_key_env: KEY
          headers: { X-Team: support }
          retries: { base_delay_ms: 5, max_delay_ms: 20, max_retry_after_ms: 1200 }
          breaker: { failures: 1000 }
        hasty:
          base_url: ${provider.url}
          timeouts: { first_token_ms: 700, silence_ms: 500, total_ms: 2000 }
        quiet:
          base_url: ${provider.url}
          timeouts: { silence_ms: 1000 }
    `,
  });
});
afterAll(async () => {
  await proxy.drop();
  await provider.close();
});
afterEach(() => provider.reset());

const PROMPT_WITH_FALLBACK = { messages: [{ role: Role.USER, content: "Hi" }], fallback: "No." };
const TEXT = "Hello from the scripted provider, token by token.";

describe("a generation", () => {
  test("streams the text as it arrives, ends complete and has the provider's token counts", async () => {
    const sentAtText: number[] = [];
    const events = await proxy.generate({
      model: "fake:tokens-10-every-50",
      onText: () => sentAtText.push(provider.requests[0]?.tokensSent ?? 0),
    });
    expect(events.text).toBe("t0 t1 t2 t3 t4 t5 t6 t7 t8 t9 ");
    expect(events.end).toMatchObject({
      model: "fake:tokens-10-every-50",
      tokensIn: fixedUsage.prompt_tokens,
      tokensOut: fixedUsage.completion_tokens,
      tokensEstimated: false,
      attempts: 1,
    });
    expect(statusOf(events)).toBe("COMPLETE");
    // When a text arrives, the provider has sent at most two more tokens than the number of texts so far.
    expect(events.texts.length).toBeGreaterThan(5);
    for (const [index, sent] of sentAtText.entries()) expect(sent).toBeLessThanOrEqual(index + 3);
  });

  test("sends the finish message before the provider sends token counts", async () => {
    provider.script([{ tokens: ["all ", "of it"], usageDelayMs: 1_000 }]);
    let wasFinishedBeforeEnd = false;
    const events = await proxy.generate({
      onFinish: () => {
        wasFinishedBeforeEnd = provider.requests[0]?.endedAt === undefined;
      },
    });
    expect(wasFinishedBeforeEnd).toBe(true);
    expect(events).toMatchObject({ text: "all of it", end: { tokensOut: fixedUsage.completion_tokens } });
  });

  test("combines 100 tokens that arrive together into fewer than ten events", async () => {
    const { texts } = await proxy.generate({ model: "fake:tokens-100" });
    expect(texts.length).toBeLessThan(10);
  });

  test("requests a stream with token counts, and sends the provider's key and headers", async () => {
    await proxy.generate({
      prompt: {
        system: "Be brief.",
        messages: [
          { role: Role.USER, content: "Hi" },
          { role: Role.ASSISTANT, content: "Hello" },
          { role: Role.USER, content: "Bye" },
        ],
      },
    });
    expect(provider.requests[0]).toMatchObject({
      headers: { authorization: `Bearer ${KEY}`, "x-team": "support" },
      body: {
        model: "tokens-3",
        stream: true,
        stream_options: { include_usage: true },
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "Hi" },
          { role: "assistant", content: "Hello" },
          { role: "user", content: "Bye" },
        ],
      },
    });
  });

  test("uses the default model if the request has none", async () => {
    const events = await proxy.generate();
    expect(events.end.model).toBe("fake:tokens-3");
    expect([statusOf(events), events.end.attempts]).toEqual(["COMPLETE", 1]);
  });

  test.each([
    ["crlf", TEXT],
    ["comments", TEXT],
    ["no-done", TEXT],
    ["length", TEXT],
    ["split-utf8", "Grüße 👋🏽 日本語 👨‍👩"],
    ["big-token", "x".repeat(256 * 1024)],
  ])("is complete for the provider's script %s", async (model, text) => {
    const events = await proxy.generate({ model: `fake:${model}` });
    expect(statusOf(events)).toBe("COMPLETE");
    expect(events.text).toBe(text);
  });

  test.each([
    ["length", "length"],
    ["tokens-3", ""],
    ["content-filter", ""],
  ])("has the finish detail of the provider's script %s in the call log", async (model, detail) => {
    const turnId = randomUUID();
    await proxy.generate({ model: `fake:${model}`, turnId });
    const [row] = await proxy.rowsOf("ws_test", turnId);
    expect(row?.finishDetail).toBe(detail);
    const { calls } = await proxy.admin.calls.listCalls({ workspaceId: "ws_test", turnId });
    expect(calls[0]?.finishDetail).toBe(detail);
  });

  test.each([
    ["empty", "PROVIDER_ERROR"],
    ["content-filter", "BLOCKED"],
  ])("is not complete for the provider's script %s", async (model, status) => {
    const events = await proxy.generate({ model: `fake:${model}`, prompt: PROMPT_WITH_FALLBACK });
    expect(statusOf(events)).toBe(status);
    if (status === "BLOCKED") expect(events.end.blocked).toMatchObject({ reason: "refusal", fallback: "No." });
  });

  test("has the whole text when one token is a mebibyte long", async () => {
    provider.script([{ tokens: ["é".repeat(512 * 1024), "!"] }]);
    const { text } = await proxy.generate();
    expect(text.length).toBe(512 * 1024 + 1);
  });

  test("has estimated token counts when the provider sends none", async () => {
    const { end } = await proxy.generate({ model: "fake:no-usage" });
    expect(end).toMatchObject({ tokensEstimated: true, tokensIn: 2, tokensOut: 10 });
  });

  test("counts tokens with the loaded vocabulary when the provider sends no counts", async () => {
    provider.script(() => ({ tokens: ["Yes, you can export the ", "whole conversation as JSON."], usage: null }));
    // Each text has 11 tokens in the vocabulary. The chat format adds four tokens to the message.
    const expected = { tokensEstimated: true, tokensIn: 11 + 4, tokensOut: 11 };
    const message = "Yes, you can export the whole conversation as JSON.";
    const generate = async () => (await proxy.generate({ model: "fake:gpt-4o", message })).end;
    await expect.poll(generate, { timeout: 18_000 }).toMatchObject(expected);
  });

  test("stops reading from the provider while its caller does not read", async () => {
    const count = 4_000;
    provider.script(() => ({ tokens: Array.from({ length: count }, () => "x".repeat(16 * 1024)) }));
    let deltas = 0;
    for await (const { event } of proxy.openStream({ model: "quiet:x" })) {
      expect(event.case).toBe("delta");
      // Longer than the silence timeout, which must not count the caller's pause.
      if (++deltas === 1) await new Promise((resolve) => setTimeout(resolve, 1_200));
      expect(provider.requests[0]?.endedAt).toBeUndefined();
      if (deltas === 40) break;
    }
    await eventually(
      () => provider.closedByClient().length,
      (closed) => closed === 1,
    );
  });
});

describe("builtin:extractive", () => {
  test("streams, in several texts, sentences of the passages with their source, and estimates the token counts", async () => {
    const events = await proxy.generate({
      model: "builtin:extractive",
      prompt: {
        passages: [
          { id: 1n, source: "returns.md", heading: "Orders > Refunds", text: "You can return an item within 30 days." },
        ],
        messages: [{ role: Role.USER, content: "Within how many days can I return an item?" }],
      },
    });
    expect(statusOf(events)).toBe("COMPLETE");
    expect(events.text).toBe("You can return an item within 30 days.\n\n— returns.md › Refunds");
    expect(events.texts.length).toBeGreaterThan(1);
    expect(events.end).toMatchObject({ model: "builtin:extractive", tokensEstimated: true, attempts: 1 });
    expect(events.end.tokensIn).toBeGreaterThan(50);
    expect(events.end.tokensOut).toBeGreaterThan(10);
    expect(provider.requests).toEqual([]);
  });
});

describe("a stream has exactly one end", () => {
  const faults = ["cut", "stall", "error", "end"] as const;
  const cases = faults.flatMap((fault) => [0, 1, 2, 3, 4, 5].map((afterTokens) => ({ fault, afterTokens })));

  test.each(cases)("with the fault $fault after $afterTokens tokens", async ({ fault, afterTokens }) => {
    const tokens = ["one ", "two ", "three ", "four ", "five "];
    provider.script(() => ({ tokens, everyMs: 15, fault, afterTokens }));
    const events = await proxy.generate({ model: fault === "stall" ? "hasty:x" : "fake:x" });
    expect(statusOf(events)).toBe(fault === "stall" ? "PROVIDER_TIMEOUT" : "PROVIDER_ERROR");
    expect(tokens.slice(0, afterTokens).join("")).toContain(events.text);
    // An attempt is retried only before the first text, and not if one of AttemptTimer's timeouts ended it.
    expect(events.end.attempts).toBe(events.text === "" && fault !== "stall" ? 3 : 1);
  });

  test.each([
    ["no-finish", "PROVIDER_ERROR", 1],
    ["html", "PROVIDER_ERROR", 1],
    ["status-400", "PROVIDER_ERROR", 1],
    ["status-401", "PROVIDER_AUTH", 1],
    ["status-403", "PROVIDER_AUTH", 1],
    ["status-404", "PROVIDER_ERROR", 1],
    ["status-408", "PROVIDER_TIMEOUT", 3],
    ["status-409", "PROVIDER_ERROR", 3],
    ["status-429-retry-0", "PROVIDER_RATE_LIMITED", 3],
    ["status-429-retry-30", "PROVIDER_RATE_LIMITED", 1],
    ["status-500", "PROVIDER_ERROR", 3],
    ["status-503-retry-0", "PROVIDER_ERROR", 3],
  ])("after the provider's script %s, with status %s and %i attempts", async (model, status, attempts) => {
    const events = await proxy.generate({ model: `fake:${model}` });
    expect([statusOf(events), events.end.attempts, provider.requests.length]).toEqual([status, attempts, attempts]);
  });

  test.each(["hang", "first-5000", "stall-after-1", "tokens-1000-every-50"])(
    "after a timeout of the model %s, with status PROVIDER_TIMEOUT and no retry",
    async (model) => {
      const events = await proxy.generate({ model: `hasty:${model}` });
      expect([statusOf(events), events.end.attempts]).toEqual(["PROVIDER_TIMEOUT", 1]);
      await eventually(
        () => provider.closedByClient().length,
        (closed) => closed === 1,
      );
    },
  );

  test.each(["unknown:x", "no model", "fake:", "builtin:other", "route:unknown", "x".repeat(5_000)])(
    "after the unknown model %j, with status MODEL_UNKNOWN and no attempt",
    async (model) => {
      const events = await proxy.generate({ model });
      expect([statusOf(events), events.end.attempts]).toEqual(["MODEL_UNKNOWN", 0]);
    },
  );

  test("after an error in an HTTP 200 response: with PROVIDER_ERROR if the body is JSON, with the status for the error's code if it is an event stream", async () => {
    const error = (code: string) => JSON.stringify({ error: { message: "no", code } });
    const stream = { "content-type": "text/event-stream" };
    provider.script([
      { headers: { "content-type": "application/json" }, body: error("invalid_api_key") },
      { headers: stream, body: `data: ${error("invalid_api_key")}\n\n` },
      { headers: stream, body: "<html>Bad Gateway</html>" },
      { headers: stream, body: "data: [DONE]\n\n" },
    ]);
    const statuses = [statusOf(await proxy.generate()), statusOf(await proxy.generate())];
    expect(statuses).toEqual(["PROVIDER_ERROR", "PROVIDER_AUTH"]);
    // The first two attempts get the last two scripted bodies and fail. The third attempt gets a complete stream.
    expect((await proxy.generate()).end.attempts).toBe(3);
  });

  test("after a completion of more than 4 Mi characters, and the provider's connection is closed", async () => {
    provider.script(() => ({ tokens: Array.from({ length: 1_600 }, () => "x".repeat(16 * 1024)) }));
    const events = await proxy.generate();
    expect(statusOf(events)).toBe("PROVIDER_ERROR");
    expect(events.text.length).toBeLessThanOrEqual(4 * 1024 * 1024);
    await eventually(
      () => provider.closedByClient().length,
      (closed) => closed === 1,
    );
  });

  test("after a very long error page, which is read only in part", async () => {
    provider.script(() => ({ status: 500, body: "x".repeat(5_000_000) }));
    expect(statusOf(await proxy.generate())).toBe("PROVIDER_ERROR");
    await eventually(
      () => provider.closedByClient().length,
      (closed) => closed === 3,
    );
  });

  test("after a redirect, which is not followed because the key would be sent elsewhere", async () => {
    const elsewhere = await startFakeProvider();
    provider.script(() => ({ status: 307, headers: { location: `${elsewhere.url}/chat/completions` }, body: "" }));
    expect(statusOf(await proxy.generate())).toBe("PROVIDER_ERROR");
    expect(elsewhere.requests).toEqual([]);
    await elsewhere.close();
  });
});

describe("retries", () => {
  test("succeed after failures before the first text, and wait for Retry-After", async () => {
    provider.script([{ status: 503 }, { status: 429, headers: { "retry-after": "1" } }]);
    const started = performance.now();
    const events = await proxy.generate();
    expect(statusOf(events)).toBe("COMPLETE");
    expect(events.end.attempts).toBe(3);
    expect(performance.now() - started).toBeGreaterThanOrEqual(1_000);
  });

  test("end with a connect error after three attempts when the provider is unreachable", async () => {
    const gone = await startFakeProvider();
    await gone.close();
    const other = await startTestProxy({ environment: { OPENAI_BASE_URL: gone.url, DEFAULT_MODEL: "openai:x" } });
    const turnId = randomUUID();
    const events = await other.generate({ turnId });
    expect([statusOf(events), events.end.attempts]).toEqual(["PROVIDER_ERROR", 3]);
    expect((await other.rowsOf("ws_test", turnId))[0]).toMatchObject({ outcome: "provider_error", reason: "connect" });
    await other.drop();
  });
});

describe("a cancelled generation", () => {
  test.each([
    ["mid-stream", "fake:tokens-1000-every-20", 3],
    ["before the first token", "fake:hang", 0],
  ])(
    "%s: closes the provider's connection within a second, and is in the call log as cancelled",
    async (_, model, after) => {
      const caller = new AbortController();
      const turnId = randomUUID();
      let texts = 0;
      const call = proxy.generate({
        model,
        turnId,
        signal: caller.signal,
        onText: () => {
          if (++texts === after) caller.abort();
        },
      });
      if (after === 0)
        await eventually(
          () => provider.requests.length,
          (length) => length === 1,
        ).then(() => caller.abort());
      await expect(call).rejects.toMatchObject({ code: "cancelled" });
      const cancelledAt = Date.now();
      const [request] = await eventually(
        () => provider.closedByClient(),
        (closed) => closed.length === 1,
      );
      expect((request?.closedByClientAt ?? 0) - cancelledAt).toBeLessThan(1_000);
      expect((await proxy.rowsOf("ws_test", turnId))[0]).toMatchObject({ outcome: "cancelled", attempts: 1 });
    },
  );

  test("makes no further attempt when cancelled between two attempts", async () => {
    provider.script(() => ({ status: 503, headers: { "retry-after": "1" } }));
    const caller = new AbortController();
    const call = proxy.generate({ signal: caller.signal });
    await eventually(
      () => provider.requests.length,
      (length) => length === 1,
    );
    caller.abort();
    await expect(call).rejects.toBeInstanceOf(RpcError);
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    expect(provider.requests).toHaveLength(1);
  });
});

describe("an invalid request", () => {
  test.each([
    ["no workspace", { workspaceId: "" }, "invalid_argument"],
    ["a workspace id with a space", { workspaceId: "a b" }, "invalid_argument"],
    ["a turn id that is not a UUID", { turnId: "1" }, "invalid_argument"],
    ["a prompt without messages", { prompt: {} }, "invalid_prompt"],
    [
      "a prompt whose last message is the bot's",
      { prompt: { messages: [{ role: Role.ASSISTANT, content: "x" }] } },
      "invalid_prompt",
    ],
  ])("with %s is refused without a request to the provider", async (_, options, code) => {
    await expect(proxy.generate(options)).rejects.toMatchObject({ code });
    expect(provider.requests).toEqual([]);
  });

  test("is refused without the internal token", async () => {
    await expect(proxy.generateWithWrongToken()).rejects.toMatchObject({ code: "unauthenticated" });
  });
});

describe("metrics by OpenTelemetry's conventions", () => {
  const labelsOf = (model: string, more = "") =>
    `{service="llm-proxy",gen_ai_operation_name="chat",gen_ai_provider_name="fake",gen_ai_request_model="${model}"${more}}`;
  const read = async (name: string, model: string, more = "") =>
    (await proxy.metric(name + labelsOf(model, more))) ?? 0;
  const readAll = async (model: string) => ({
    requests: await read("gen_ai_client_operation_duration_seconds_count", model, ',error_type=""'),
    firstChunks: await read("gen_ai_client_operation_time_to_first_chunk_seconds_count", model),
    input: await read("gen_ai_client_token_usage_sum", model, ',gen_ai_token_type="input"'),
    output: await read("gen_ai_client_token_usage_sum", model, ',gen_ai_token_type="output"'),
  });

  test.each([
    ["the default model", "fake:tokens-3", "tokens-3"],
    ["a model that the settings do not name", "fake:tokens-4", "_OTHER"],
  ])("count the requests and tokens of %s", async (_, model, label) => {
    const before = await readAll(label);
    await proxy.generate({ model });
    expect(await readAll(label)).toEqual({
      requests: before.requests + 1,
      firstChunks: before.firstChunks + 1,
      input: before.input + fixedUsage.prompt_tokens,
      output: before.output + fixedUsage.completion_tokens,
    });
  });

  test("have the reason of a failed request, and one observation for each request", async () => {
    const failed = () => read("gen_ai_client_operation_duration_seconds_count", "tokens-3", ',error_type="http_503"');
    const [failedBefore, completedBefore] = [await failed(), (await readAll("tokens-3")).requests];
    provider.script([{ status: 503 }, {}]);
    await proxy.generate({ model: "fake:tokens-3" });
    expect(await failed()).toBe(failedBefore + 1);
    expect((await readAll("tokens-3")).requests).toBe(completedBefore + 1);
  });
});
