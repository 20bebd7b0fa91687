import { expect, test, vi } from "vitest";
import { CircuitBreaker } from "../providers/circuit-breaker.ts";
import { ConcurrencyLimiter } from "../providers/concurrency-limiter.ts";
import { createBuiltinSettings, PROVIDER_DEFAULTS } from "../settings/settings.ts";
import { Embedder } from "./embedder.ts";

function createEmbedder(embed: () => Promise<never>) {
  const breaker = new CircuitBreaker({ failures: 1, cooldownMs: 1_000 }, () => 0);
  const concurrency = new ConcurrencyLimiter(PROVIDER_DEFAULTS.concurrency);
  const provider = { hasModel: () => true, stream: vi.fn(), embed, close: () => Promise.resolve() };
  const guardedProvider = {
    settings: createBuiltinSettings(),
    provider,
    breaker,
    concurrency,
    embeddings: { breaker, concurrency },
  };
  const model = { guardedProvider, name: "m", model: "p:m", dimensions: undefined };
  const [inc, recordDuration] = [vi.fn(), vi.fn()];
  const embedder = new Embedder({
    catalog: { embeddingModel: model },
    metrics: { embeddings: { inc }, operations: { recordDuration } } as never,
    log: { warn: vi.fn() } as never,
    now: () => 0,
    random: () => 0,
  });
  return { inc, recordDuration, run: (signal: AbortSignal) => embedder.embed(model, "ws", ["text"], signal) };
}

test("an unexpected error is thrown and counted as provider_error; the attempt's duration has the error type internal", async () => {
  const error = new TypeError("a bug");
  const { inc, recordDuration, run } = createEmbedder(() => Promise.reject(error));
  await expect(run(new AbortController().signal)).rejects.toBe(error);
  expect(inc.mock.calls).toEqual([[{ provider: "builtin", outcome: "provider_error" }]]);
  expect(recordDuration.mock.calls).toEqual([[expect.anything(), 0, "internal"]]);
});

test("an error after the caller cancelled is counted as cancelled", async () => {
  const caller = new AbortController();
  const reason = new Error("the caller left");
  const { inc, recordDuration, run } = createEmbedder(() => {
    caller.abort(reason);
    return Promise.reject(new TypeError("aborted"));
  });
  await expect(run(caller.signal)).rejects.toBe(reason);
  expect(inc.mock.calls).toEqual([[{ provider: "builtin", outcome: "cancelled" }]]);
  expect(recordDuration.mock.calls).toEqual([[expect.anything(), 0, "cancelled"]]);
});
