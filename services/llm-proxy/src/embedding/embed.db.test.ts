import { status } from "@parley/rpc";
import { embedText, type FakeProvider, startFakeProvider } from "@parley/test-support";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually, startTestProxy, type TestProxy } from "../testing/llm-proxy.ts";

const EMBEDDINGS = "embeddings: { model: fake:small, dimensions: 64 }";
let provider: FakeProvider;
let proxy: TestProxy;
const config = (embeddings: string) => `
  providers:
    fake:
      base_url: ${provider.url}
      timeouts: { first_token_ms: 1000 }
      retries: { max_attempts: 2, base_delay_ms: 1 }
      breaker: { failures: 1000 }
  ${embeddings}
`;
beforeAll(async () => {
  provider = await startFakeProvider();
  proxy = await startTestProxy({ config: config(EMBEDDINGS) });
});
afterAll(async () => {
  await proxy.drop();
  await provider.close();
});
afterEach(() => provider.reset());

const metric = (outcome: string) =>
  proxy.metric(`parley_llm_embeddings_total{provider="fake",outcome="${outcome}",service="llm-proxy"}`);

/** Returns the error's status and code, or undefined if the call succeeds. */
async function failureOf(call: Promise<unknown>) {
  const error = await call.then(
    () => undefined,
    (thrown: { status: number; code: string; message: string }) => thrown,
  );
  return error && [status[error.status], error.code];
}

test("returns one vector per text in order, with the model, the dimensions and the tokens", async () => {
  const before = (await metric("complete")) ?? 0;
  const { model, dimensions, tokens, embeddings } = await proxy.embed(["one two", "three"]);
  expect({ model, dimensions, tokens }).toEqual({ model: "fake:small@64", dimensions: 64, tokens: 3 });
  const expected = ["one two", "three"].map((text) => Array.from(new Float32Array(embedText(text, 64))));
  expect(embeddings.map(({ values }) => values)).toEqual(expected);
  expect(provider.requests[0]?.body).toEqual({
    model: "small",
    input: ["one two", "three"],
    encoding_format: "float",
    dimensions: 64,
  });
  expect(await metric("complete")).toBe(before + 1);
  expect(
    await proxy.metric(
      'gen_ai_client_token_usage_sum{service="llm-proxy",gen_ai_operation_name="embeddings",gen_ai_provider_name="fake",gen_ai_request_model="small",gen_ai_token_type="input"}',
    ),
  ).toBeGreaterThanOrEqual(3);
});

test("without texts, returns only the model and sends no request", async () => {
  expect(await proxy.embed([])).toMatchObject({ model: "fake:small@64", embeddings: [], tokens: 0 });
  expect(provider.requests).toEqual([]);
});

test("refuses too many texts, a blank text, a long text and a missing workspace", async () => {
  for (const call of [
    proxy.embed(Array.from({ length: 65 }, () => "a")),
    proxy.embed(["a", " "]),
    proxy.embed(["a".repeat(8_001)]),
    proxy.embed(["a"], { workspaceId: "" }),
  ])
    expect(await failureOf(call)).toEqual(["INVALID_ARGUMENT", "invalid_argument"]);
  expect(provider.requests).toEqual([]);
});

describe("a provider", () => {
  test.each([
    ["fails once", { status: 500 }],
    ["closes its connection once", { fault: "cut" as const }],
  ])("that %s gets the request again", async (_, reply) => {
    provider.script([reply]);
    expect((await proxy.embed(["a"])).embeddings).toHaveLength(1);
    expect(provider.requests).toHaveLength(2);
  });

  test.each([
    ["refuses the key", { status: 401 }, "provider_auth", 1],
    ["limits the rate", { status: 429, headers: { "retry-after": "60" } }, "provider_rate_limited", 1],
    ["keeps failing", { status: 503 }, "provider_error", 2],
    ["never responds", { hangs: true }, "provider_timeout", 1],
    ["sends no vectors", { body: '{"data":[]}' }, "provider_error", 1],
    ["sends an HTML page", { body: "<!doctype html>" }, "provider_error", 1],
    ["sends a vector with null", { body: '{"data":[{"index":0,"embedding":[1,null]}]}' }, "provider_error", 1],
    ["sends a vector of zeros", { body: '{"data":[{"index":0,"embedding":[0,0]}]}' }, "provider_error", 1],
  ])("that %s fails the call with $2", async (_, reply, code, requests) => {
    provider.script(() => reply);
    expect(await failureOf(proxy.embed(["a"]))).toEqual(["ABORTED", code]);
    expect(provider.requests).toHaveLength(requests);
  });
});

test("closes the connection to the provider when the call's deadline passes", async () => {
  provider.script([{ hangs: true }]);
  // Shorter than the provider's timeout, and long enough for the request to reach the provider on a busy machine.
  expect(await failureOf(proxy.embed(["a"], { timeoutMs: 600 }))).toEqual(["DEADLINE_EXCEEDED", "deadline_exceeded"]);
  await eventually(
    () => provider.closedByClient().length,
    (count) => count === 1,
  );
});

test("refuses texts after the embedding model is removed from the configuration", async () => {
  const configure = async (embeddings: string, expectedModel: string) => {
    proxy.writeConfig(config(embeddings));
    await eventually(
      () => proxy.embed([]),
      ({ model }) => model === expectedModel,
    );
  };
  await configure("", "");
  expect(await failureOf(proxy.embed(["a"]))).toEqual(["FAILED_PRECONDITION", "embeddings_not_configured"]);
  await configure(EMBEDDINGS, "fake:small@64");
});
