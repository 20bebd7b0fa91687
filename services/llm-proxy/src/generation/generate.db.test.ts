import { randomUUID } from "node:crypto";
import { RpcError } from "@parley/rpc";
import { Role } from "@parley/rpc/llm";
import { type FakeProvider, fixedUsage, startFakeProvider } from "@parley/test-support";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually, startTestProxy, statusOf, type TestProxy } from "../testing/llm-proxy.ts";

const KEY = "sk-of-the-tests";

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
        slow-reader:
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

const TEXT = "Hello from the scripted provider, token by token.";

describe("a reply", () => {
  test("is streamed as it comes, ends complete and carries the provider's own count", async () => {
    const seenAfter: number[] = [];
    const events = await proxy.generate({
      model: "fake:tokens-10-every-50",
      onText: () => seenAfter.push(provider.requests[0]?.tokensSent ?? 0),
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
    // Each was here before the provider sent the one after next.
    expect(events.texts.length).toBeGreaterThan(5);
    for (const [index, sent] of seenAfter.entries()) expect(sent).toBeLessThanOrEqual(index + 3);
  });

  test("comes in one piece when the provider sent it in one", async () => {
    const { texts } = await proxy.generate({ model: "fake:tokens-100" });
    expect(texts.length).toBeLessThan(10);
  });

  test("asks the provider for a stream and its count, with its key and headers and nothing of our environment", async () => {
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
    expect(Object.keys(provider.requests[0]?.headers ?? {})).not.toContain("openai-organization");
  });

  test("without a model follows the default", async () => {
    expect((await proxy.generate()).end.model).toBe("fake:tokens-3");
  });

  test.each([
    ["crlf", TEXT],
    ["comments", TEXT],
    ["no-done", TEXT],
    ["length", TEXT],
    ["split-utf8", "Grüße 👋🏽 日本語 👨‍👩"],
    ["empty", ""],
    ["big-token", "x".repeat(256 * 1024)],
  ])("is whole from a provider that does %s", async (model, text) => {
    const events = await proxy.generate({ model: `fake:${model}` });
    expect(statusOf(events)).toBe("COMPLETE");
    expect(events.text).toBe(text);
  });

  test("of a mebibyte in one token arrives whole", async () => {
    provider.script([{ tokens: ["é".repeat(512 * 1024), "!"] }]);
    const { text } = await proxy.generate();
    expect(text.length).toBe(512 * 1024 + 1);
  });

  test("is counted here, and marked as estimated, when the provider does not count", async () => {
    const { end } = await proxy.generate({ model: "fake:no-usage" });
    expect(end).toMatchObject({ tokensEstimated: true, tokensIn: 2, tokensOut: 10 });
  });

  test("of a family whose vocabulary is published is counted by that, once it is loaded", async () => {
    provider.script(() => ({ tokens: ["Yes, you can export the ", "whole conversation as JSON."], usage: null }));
    // What the vocabulary makes of it, and four for the one message.
    const expected = { tokensEstimated: true, tokensIn: 11 + 4, tokensOut: 11 };
    const message = "Yes, you can export the whole conversation as JSON.";
    const ask = async () => (await proxy.generate({ model: "fake:gpt-4o", message })).end;
    await expect.poll(ask, { timeout: 18_000 }).toMatchObject(expected);
  });
});

describe("builtin:extractive", () => {
  test("streams sentences of the passages with their source, in several pieces, counted by estimate", async () => {
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
    expect(events.text).toBe("From returns.md › Orders › Refunds: “You can return an item within 30 days.”");
    expect(events.texts.length).toBeGreaterThan(1);
    expect(events.end).toMatchObject({ model: "builtin:extractive", tokensEstimated: true, attempts: 1 });
    expect(events.end.tokensIn).toBeGreaterThan(50);
    expect(events.end.tokensOut).toBeGreaterThan(15);
    expect(provider.requests).toEqual([]);
  });
});

describe("exactly one end, whatever the provider does", () => {
  const faults = ["cut", "stall", "error", "end"] as const;
  const cases = faults.flatMap((fault) => [0, 1, 2, 3, 4, 5].map((afterTokens) => ({ fault, afterTokens })));

  test.each(cases)("$fault after $afterTokens tokens", async ({ fault, afterTokens }) => {
    const tokens = ["one ", "two ", "three ", "four ", "five "];
    provider.script(() => ({ tokens, everyMs: 15, fault, afterTokens }));
    const events = await proxy.generate({ model: fault === "stall" ? "hasty:x" : "fake:x" });
    expect(events.ends).toHaveLength(1);
    expect(statusOf(events)).toBe(fault === "stall" ? "PROVIDER_TIMEOUT" : "PROVIDER_ERROR");
    expect(tokens.slice(0, afterTokens).join("")).toContain(events.text);
    // Asked again only as long as nothing of the reply was sent on, and never for silence.
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
  ])("%s is %s after %i attempts", async (model, status, attempts) => {
    const events = await proxy.generate({ model: `fake:${model}` });
    expect([statusOf(events), events.end.attempts, provider.requests.length]).toEqual([status, attempts, attempts]);
    expect(events.ends).toHaveLength(1);
  });

  test.each(["hang", "first-5000", "stall-after-1", "tokens-1000-every-50"])(
    "a provider that takes too long, %s, is PROVIDER_TIMEOUT, and not asked again",
    async (model) => {
      const events = await proxy.generate({ model: `hasty:${model}` });
      expect([statusOf(events), events.end.attempts, events.ends.length]).toEqual(["PROVIDER_TIMEOUT", 1, 1]);
      await eventually(
        () => provider.closedByClient().length,
        (closed) => closed === 1,
      );
    },
  );

  test.each(["", "nobody:x", "no model", "fake:", "builtin:other", "route:nobody", "x".repeat(5_000)])(
    "a model that cannot be called, %j, is MODEL_UNKNOWN (or the default's reply for none)",
    async (model) => {
      const events = await proxy.generate({ model });
      expect(statusOf(events)).toBe(model === "" ? "COMPLETE" : "MODEL_UNKNOWN");
      expect(events.end.attempts).toBe(model === "" ? 1 : 0);
    },
  );

  test("a body that answers 200 with an error, in JSON or in a stream, is an error by its code", async () => {
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
    // Both are asked again, and the third time gets the plain reply of the model's name.
    expect((await proxy.generate()).end.attempts).toBe(3);
  });

  test("a reply that does not stop is ended", async () => {
    provider.script(() => ({ tokens: Array.from({ length: 1_600 }, () => "x".repeat(16 * 1024)) }));
    const events = await proxy.generate();
    expect(statusOf(events)).toBe("PROVIDER_ERROR");
    expect(events.text.length).toBeLessThanOrEqual(4 * 1024 * 1024);
    await eventually(
      () => provider.closedByClient().length,
      (closed) => closed === 1,
    );
  });

  test("an error page without end is not read to its end", async () => {
    provider.script(() => ({ status: 500, body: "x".repeat(5_000_000) }));
    expect(statusOf(await proxy.generate())).toBe("PROVIDER_ERROR");
    await eventually(
      () => provider.closedByClient().length,
      (closed) => closed === 3,
    );
  });

  test("a redirect is not followed, so that the key goes nowhere else", async () => {
    const elsewhere = await startFakeProvider();
    provider.script(() => ({ status: 307, headers: { location: `${elsewhere.url}/chat/completions` }, body: "" }));
    expect(statusOf(await proxy.generate())).toBe("PROVIDER_ERROR");
    expect(elsewhere.requests).toEqual([]);
    await elsewhere.close();
  });
});

describe("retries", () => {
  test("make good what fails before the first token, and wait as long as they are told", async () => {
    provider.script([{ status: 503 }, { status: 429, headers: { "retry-after": "1" } }]);
    const started = performance.now();
    const events = await proxy.generate();
    expect(statusOf(events)).toBe("COMPLETE");
    expect(events.end.attempts).toBe(3);
    expect(performance.now() - started).toBeGreaterThanOrEqual(1_000);
  });

  test("a provider that is not there is a connect error, asked three times", async () => {
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

describe("a caller who leaves", () => {
  test.each([
    ["mid-stream", "fake:tokens-1000-every-20", 3],
    ["before the first token", "fake:hang", 0],
  ])("%s: the provider's connection is closed within a second, and the row says cancelled", async (_, model, after) => {
    const caller = new AbortController();
    const turnId = randomUUID();
    let seen = 0;
    const call = proxy.generate({
      model,
      turnId,
      signal: caller.signal,
      onText: () => {
        if (++seen === after) caller.abort();
      },
    });
    if (after === 0)
      await eventually(
        () => provider.requests.length,
        (length) => length === 1,
      ).then(() => caller.abort());
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    const leftAt = Date.now();
    const [request] = await eventually(
      () => provider.closedByClient(),
      (closed) => closed.length === 1,
    );
    expect((request?.closedByClientAt ?? 0) - leftAt).toBeLessThan(1_000);
    expect((await proxy.rowsOf("ws_test", turnId))[0]).toMatchObject({ outcome: "cancelled", attempts: 1 });
  });

  test("between two attempts leaves no further attempt behind", async () => {
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

  test("a reader who does not read holds the provider back instead of filling memory", async () => {
    const count = 4_000;
    provider.script(() => ({ tokens: Array.from({ length: count }, () => "x".repeat(16 * 1024)) }));
    let deltas = 0;
    for await (const { event } of proxy.open({ model: "slow-reader:x" })) {
      expect(event.case).toBe("delta");
      // Longer than the provider may be silent: that it was held back is not held against it.
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

describe("a request that makes no sense", () => {
  test.each([
    ["no workspace", { workspaceId: "" }, "invalid_argument"],
    ["a workspace id with blanks", { workspaceId: "a b" }, "invalid_argument"],
    ["a turn that is no UUID", { turnId: "1" }, "invalid_argument"],
    ["a prompt without messages", { prompt: {} }, "invalid_prompt"],
    [
      "a prompt that ends in the bot",
      { prompt: { messages: [{ role: Role.ASSISTANT, content: "x" }] } },
      "invalid_prompt",
    ],
  ])("%s is refused before anything is asked", async (_, options, code) => {
    await expect(proxy.generate(options)).rejects.toMatchObject({ code });
    expect(provider.requests).toEqual([]);
  });

  test("a call without the internal token is refused", async () => {
    await expect(proxy.generateUnauthenticated()).rejects.toMatchObject({ code: "unauthenticated" });
  });
});
