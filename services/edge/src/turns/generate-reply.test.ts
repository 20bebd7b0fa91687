import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { RpcClient } from "@parley/rpc";
import { OpenTurnResponseSchema } from "@parley/rpc/conversation";
import { type GenerateRequest, GenerateResponseSchema, GenerateStatus, type LlmService } from "@parley/rpc/llm";
import { expect, test } from "vitest";
import type { TurnSink } from "./ending.ts";
import { generateReply } from "./generate-reply.ts";
import { isUnpaid } from "./reply-result.ts";
import { Stopwatch } from "./stopwatch.ts";

test("sends the prompt, does not keep it while the reply streams, and returns how the reply finished", async () => {
  const prompt = new TextEncoder().encode("a long prompt");
  const opened = create(OpenTurnResponseSchema, { model: "openai:default", prompt });
  const sent: GenerateRequest[] = [];
  const promptWhileStreaming: Uint8Array[] = [];
  async function* generate(request: GenerateRequest) {
    sent.push(request);
    yield create(GenerateResponseSchema, { event: { case: "delta", value: { text: "Hello" } } });
    promptWhileStreaming.push(opened.prompt);
    yield create(GenerateResponseSchema, { event: { case: "finish", value: { finishDetail: "length" } } });
    yield create(GenerateResponseSchema, { event: { case: "end", value: { status: GenerateStatus.COMPLETE } } });
  }
  const sink = { meta: () => undefined, token: () => undefined, end: () => undefined } as TurnSink;
  const result = await generateReply(
    { generate } as unknown as RpcClient<typeof LlmService>,
    { workspaceId: "w", turnId: "t", month: "2026-01", day: "2026-01-31", opened },
    { sink, stopwatch: new Stopwatch(() => 0, "receive"), endSignal: new AbortController().signal },
  );
  expect(result).toMatchObject({ outcome: "done", content: "Hello", finishDetail: "length" });
  expect(sent).toMatchObject([{ model: "openai:default", prompt }]);
  expect(promptWhileStreaming).toEqual([new Uint8Array()]);
});

const TEXT = { case: "delta", value: { text: "Hello" } } as const;
const ROUND = { case: "toolRound", value: {} } as const;
const OUTPUT = { case: "outputStart", value: {} } as const;
const TOOL = { case: "toolCall", value: { name: "act" } } as const;
const end = (status: GenerateStatus, isProviderFailure = false) =>
  ({ case: "end", value: { status, isProviderFailure } }) as const;
const { BLOCKED, COMPLETE, PROVIDER_ERROR, PROVIDER_TIMEOUT } = GenerateStatus;

type Event = NonNullable<MessageInitShape<typeof GenerateResponseSchema>["event"]>;

/** Generates a reply from these events. If `isCancelled`, the visitor leaves after the last event. */
async function generateFrom(events: readonly Event[], { isCancelled = false, readerWaitMs = 0 } = {}) {
  const cancelController = new AbortController();
  let now = 0;
  async function* generate() {
    for (const event of events) yield create(GenerateResponseSchema, { event });
    if (!isCancelled) return;
    cancelController.abort();
    throw new Error("cancelled");
  }
  const token = () => {
    if (readerWaitMs === 0) return undefined;
    return Promise.resolve().then(() => {
      now += readerWaitMs;
    });
  };
  const sink = { meta: () => undefined, token, end: () => undefined } as TurnSink;
  const result = await generateReply(
    { generate } as unknown as RpcClient<typeof LlmService>,
    { workspaceId: "w", turnId: "t", month: "2026-01", day: "2026-01-31", opened: create(OpenTurnResponseSchema) },
    { sink, stopwatch: new Stopwatch(() => now, "receive"), endSignal: cancelController.signal },
  );
  return isCancelled && result.outcome !== "done" ? { ...result, outcome: "cancelled" as const } : result;
}

test.each<[string, boolean, readonly Event[], Parameters<typeof generateFrom>[1]?]>([
  ["a complete reply", false, [TEXT, end(COMPLETE)]],
  ["a reply cancelled after text", true, [TEXT], { isCancelled: true }],
  ["a reply cancelled before text", false, [], { isCancelled: true }],
  ["a reply cancelled while the model thinks", true, [OUTPUT], { isCancelled: true }],
  ["a provider failure after thoughts", false, [OUTPUT, end(PROVIDER_ERROR, true)]],
  ["a reply cancelled while the first tools run", true, [ROUND], { isCancelled: true }],
  ["a reply cancelled after the first tools ran", true, [ROUND, TOOL], { isCancelled: true }],
  ["a reply cancelled when its text was complete", false, [TEXT, { case: "finish", value: {} }], { isCancelled: true }],
  [
    "a blocked reply",
    true,
    [TEXT, { case: "end", value: { status: BLOCKED, blocked: { reason: "r", fallback: "f" } } }],
  ],
  ["too many tool rounds", true, [ROUND, TOOL, end(PROVIDER_ERROR)]],
  ["a provider failure after a tool call", false, [ROUND, TOOL, end(PROVIDER_ERROR, true)]],
  ["a failure after text", false, [TEXT, end(PROVIDER_ERROR)]],
  ["a provider failure after text", false, [TEXT, end(PROVIDER_ERROR, true)]],
  [
    "a failure after thoughts without a text",
    true,
    [{ case: "end", value: { status: PROVIDER_ERROR, tokensOut: 4_000 } }],
  ],
  ["a failure without any output", false, [end(PROVIDER_ERROR)]],
  ["a total timeout while the visitor read slowly", true, [TEXT, end(PROVIDER_TIMEOUT)], { readerWaitMs: 31_000 }],
  ["a total timeout of a slow provider", false, [TEXT, end(PROVIDER_TIMEOUT)], { readerWaitMs: 2_000 }],
  ["a lost llm-proxy after a tool call", false, [ROUND, TOOL]],
])("%s: unpaid is %s", async (_, expected, events, options) => {
  const result = await generateFrom(events, options);
  expect(isUnpaid(result)).toBe(expected);
  expect(result.day).toBe("2026-01-31");
});
