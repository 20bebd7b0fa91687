import { create } from "@bufbuild/protobuf";
import type { RpcClient } from "@parley/rpc";
import { OpenTurnResponseSchema } from "@parley/rpc/conversation";
import { type GenerateRequest, GenerateResponseSchema, GenerateStatus, type LlmService } from "@parley/rpc/llm";
import { expect, test } from "vitest";
import type { TurnSink } from "./ending.ts";
import { generateReply } from "./generate-reply.ts";
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
    { workspaceId: "w", turnId: "t", month: "2026-01", opened },
    { sink, stopwatch: new Stopwatch(() => 0, "receive"), endSignal: new AbortController().signal },
  );
  expect(result).toMatchObject({ outcome: "done", content: "Hello", finishDetail: "length" });
  expect(sent).toMatchObject([{ model: "openai:default", prompt }]);
  expect(promptWhileStreaming).toEqual([new Uint8Array()]);
});
