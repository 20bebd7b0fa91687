import { create } from "@bufbuild/protobuf";
import { PromptSchema } from "@parley/rpc/llm";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CircuitBreaker } from "../providers/circuit-breaker.ts";
import { ConcurrencyLimiter } from "../providers/concurrency-limiter.ts";
import type { CompletionRequest } from "../providers/provider.ts";
import { createBuiltinSettings, PROVIDER_DEFAULTS } from "../settings/settings.ts";
import { Generation } from "./generation.ts";

const MINUTE_MS = 60_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ["even if its provider's total timeout is longer", 0],
  ["including the wait for a slot of the provider's concurrency limit", MINUTE_MS],
])("a generation ends after six minutes as a timeout, %s", async (_, queueMs) => {
  const timeouts = { ...PROVIDER_DEFAULTS.timeouts, totalMs: 30 * MINUTE_MS };
  const settings = { ...createBuiltinSettings(), timeouts };
  const breaker = new CircuitBreaker(settings.breaker, Date.now);
  const concurrency = new ConcurrencyLimiter({ maxActive: 1, maxQueued: 1, maxWaitMs: 2 * MINUTE_MS });
  const releaseSlot = await concurrency.acquire("other", new AbortController().signal);
  setTimeout(releaseSlot, queueMs);
  const stream = async ({ onText, signal }: CompletionRequest) => {
    while (!signal.aborted) {
      await onText("word ");
      await new Promise((resolve) => setTimeout(resolve, 10_000));
    }
    signal.throwIfAborted();
  };
  const provider = { hasModel: () => true, stream, close: () => Promise.resolve() };
  const guardedProvider = { settings, provider, breaker, concurrency, embeddings: { breaker, concurrency } };
  const request = { workspaceId: "ws", turnId: "t", prompt: create(PromptSchema) } as ConstructorParameters<
    typeof Generation
  >[0];
  const deps = { now: Date.now, random: () => 0, onFailure: () => undefined };
  const generation = new Generation(request, new AbortController().signal, deps);
  const output = { sink: () => undefined, waitForMatching: () => Promise.resolve(), sendHeldBackText: () => undefined };
  const startedAtMs = Date.now();
  const ended = generation.run([{ guardedProvider, name: "m", model: "p:m" }], undefined, output as never);
  const observed = ended.then((ending) => ({ ...ending, afterMs: Date.now() - startedAtMs }));
  await vi.advanceTimersByTimeAsync(40 * MINUTE_MS);
  expect(await observed).toMatchObject({ outcome: "provider_timeout", reason: "total_timeout" });
  const { afterMs } = await observed;
  // The provider writes every 10 s, so it detects the timeout up to 10 s late.
  expect(afterMs).toBeGreaterThanOrEqual(6 * MINUTE_MS);
  expect(afterMs).toBeLessThanOrEqual(6 * MINUTE_MS + 10_000);
});
