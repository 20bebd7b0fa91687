import { create } from "@bufbuild/protobuf";
import { PromptSchema } from "@parley/rpc/llm";
import { expect, test, vi } from "vitest";
import { CircuitBreaker } from "../providers/circuit-breaker.ts";
import { ConcurrencyLimiter } from "../providers/concurrency-limiter.ts";
import { GenerationCancelled, ProviderFailure } from "../providers/failure.ts";
import type { CompletionRequest } from "../providers/provider.ts";
import { createBuiltinSettings, PROVIDER_DEFAULTS } from "../settings/settings.ts";
import { runAttempt } from "./attempt.ts";
import type { AttemptRequest } from "./attempt-result.ts";

function createAttemptRequest(stream: (request: CompletionRequest) => Promise<void>): AttemptRequest {
  const breaker = new CircuitBreaker({ failures: 1, cooldownMs: 1_000 }, () => 0);
  const concurrency = new ConcurrencyLimiter(PROVIDER_DEFAULTS.concurrency);
  const guardedProvider = {
    settings: createBuiltinSettings(),
    provider: { hasModel: () => true, stream, close: () => Promise.resolve() },
    breaker,
    concurrency,
    embeddings: { breaker, concurrency },
  };
  return {
    candidate: { guardedProvider, name: "m", model: "p:m" },
    workspaceId: "ws",
    turnId: "turn",
    prompt: create(PromptSchema),
    tools: [],
    mustAnswerWithoutTools: false,
    toolRounds: [],
    citations: undefined,
    deadlineAtMs: Number.POSITIVE_INFINITY,
  };
}

function run(request: AttemptRequest, signal = new AbortController().signal) {
  return runAttempt(request, {
    signal,
    now: () => 0,
    onText: () => undefined,
    onCitation: vi.fn(),
    onTextComplete: vi.fn(),
    onThoughts: vi.fn(),
    onFirstText: vi.fn(),
  });
}

const STOPPED = { stopCause: "stop", finishReason: "stop", toolRequests: [] } as const;
const usage = { tokensIn: 3, tokensOut: 1 };

test("a failed attempt returns the text and the usage that came before the failure", async () => {
  const failure = new ProviderFailure("provider_error", "truncated", { isProviderFault: true });
  const request = createAttemptRequest(async ({ onText, onUsage }) => {
    await onText("some ");
    onUsage(usage);
    await onText("text");
    throw failure;
  });
  expect(await run(request)).toMatchObject({
    isSent: true,
    firstTextAtMs: 0,
    completion: { text: "some text", usage, isFinished: false },
    failure,
  });
});

test("an attempt refuses text that arrives after its total timeout, and fails", async () => {
  const { promise: timedOut, resolve: onTimeout } = Promise.withResolvers<void>();
  const request = createAttemptRequest(async ({ onText, onFinished, signal }) => {
    signal.addEventListener("abort", () => onTimeout());
    await onText("some ");
    await timedOut;
    await onText("text");
    onFinished(STOPPED);
  });
  const result = await run({ ...request, deadlineAtMs: 1 });
  expect(result.completion).toMatchObject({ text: "some ", isFinished: false });
  expect(result.failure).toMatchObject({ code: "provider_timeout", reason: "total_timeout" });
});

test("an attempt with an unexpected error returns the text before the error, and a failure with the reason internal", async () => {
  const error = new TypeError("a bug");
  const request = createAttemptRequest(async ({ onText }) => {
    await onText("text");
    throw error;
  });
  const { completion, failure } = await run(request);
  expect(completion.text).toBe("text");
  expect(failure).toMatchObject({ code: "provider_error", reason: "internal", cause: error });
});

test("a cancelled attempt returns the text so far and leaves the breaker closed", async () => {
  const caller = new AbortController();
  const request = createAttemptRequest(async ({ onText, signal }) => {
    await onText("text");
    caller.abort(new GenerationCancelled());
    signal.throwIfAborted();
  });
  const { completion, failure } = await run(request, caller.signal);
  expect(completion.text).toBe("text");
  expect(failure).toBeInstanceOf(GenerationCancelled);
  expect(request.candidate.guardedProvider.breaker.state).toBe("closed");
});

test.each([
  ["complete if onTextComplete was called", true, undefined],
  ["cancelled if onTextComplete was not called", false, expect.any(GenerationCancelled)],
])("an attempt whose caller cancels after onFinished is %s", async (_, isTextComplete, failure) => {
  const caller = new AbortController();
  const request = createAttemptRequest(async ({ onText, onFinished, onTextComplete, signal }) => {
    await onText("text");
    onFinished(STOPPED);
    if (isTextComplete) onTextComplete();
    caller.abort(new GenerationCancelled());
    signal.throwIfAborted();
  });
  const result = await run(request, caller.signal);
  expect(result.completion).toMatchObject({ text: "text", isFinished: true });
  expect(result.failure).toEqual(failure);
});

test.each([
  ["before the first text opens the breaker", "", "open"],
  ["after the first text leaves the breaker closed", "text", "closed"],
])("a provider fault %s", async (_, text, state) => {
  const request = createAttemptRequest(async ({ onText }) => {
    if (text !== "") await onText(text);
    throw new ProviderFailure("provider_error", "http_500", { isProviderFault: true });
  });
  await run(request);
  expect(request.candidate.guardedProvider.breaker.state).toBe(state);
});

test("no request is sent while the breaker is open or the queue is full", async () => {
  const stream = vi.fn(() =>
    Promise.reject(new ProviderFailure("provider_error", "http_500", { isProviderFault: true })),
  );
  const request = createAttemptRequest(stream);
  await run(request);
  expect(await run(request)).toMatchObject({ isSent: false, failure: { reason: "breaker_open" } });
  const { guardedProvider } = request.candidate;
  guardedProvider.concurrency = new ConcurrencyLimiter({ maxActive: 0, maxQueued: 0, maxWaitMs: 1 });
  expect(await run(request)).toMatchObject({ isSent: false, failure: { reason: "queue_full" } });
  expect(stream).toHaveBeenCalledOnce();
});

test("a half-open breaker closes at the first text of an attempt, before the completion ends", async () => {
  const { promise: longReplyEnd, resolve: endLongReply } = Promise.withResolvers<void>();
  const fail = () => Promise.reject(new ProviderFailure("provider_error", "http_500", { isProviderFault: true }));
  const reply = async ({ onText, onFinished }: CompletionRequest, end?: Promise<void>) => {
    await onText("text");
    await end;
    onFinished(STOPPED);
  };
  const streams = [fail, (each: CompletionRequest) => reply(each, longReplyEnd), reply];
  const request = createAttemptRequest(async (each) => await streams.shift()?.(each));
  request.candidate.guardedProvider.breaker = new CircuitBreaker({ failures: 1, cooldownMs: 0 }, () => 0);
  await run(request);
  const longReply = run(request);
  await vi.waitFor(() => expect(streams).toHaveLength(1));
  expect(await run(request)).toMatchObject({ isSent: true, failure: undefined });
  endLongReply();
  expect(await longReply).toMatchObject({ failure: undefined });
});
