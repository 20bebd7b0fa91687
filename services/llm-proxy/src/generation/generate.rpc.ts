import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallContext } from "@parley/rpc";
import type { GenerateEndSchema, GenerateRequest, GenerateResponseSchema, WaitsSchema } from "@parley/rpc/llm";
import { GENERATION_STATUSES } from "@parley/rpc/outcomes";
import { failpoint } from "@parley/service-kit";
import type { CallLog } from "../call-log/index.ts";
import { toCallRow } from "./call-row.ts";
import { coalesceText } from "./coalesce-text.ts";
import type { FlushClock } from "./flush-clock.ts";
import type { FirstTextWaits } from "./generation.ts";
import type { GenerationEvent, GenerationRequest, GenerationResult } from "./generation-result.ts";
import type { GenerationRunner } from "./generation-runner.ts";
import { readPrompt } from "./read-prompt.ts";
import { splitText } from "./split-text.ts";

export type GenerateDeps = {
  generationRunner: Pick<GenerationRunner, "start">;
  callLog: Pick<CallLog, "add">;
  flushClock: FlushClock;
  /** Milliseconds since 1970. */
  wallClock: () => number;
  createId: () => string;
};

type ResponseInit = MessageInitShape<typeof GenerateResponseSchema>;

/**
 * Streams a generation's text and tool calls, interleaved, then a finish message if the text is complete, then exactly one end message.
 * Texts keep their order, and so do tool calls. But a tool call or a citation may overtake text that moderation holds back: no caller depends on
 * that order. Throws invalid_argument or invalid_prompt before the first response. Adds every generation to the call log, even a cancelled one.
 */
export async function* handleGenerate(
  deps: GenerateDeps,
  message: GenerateRequest,
  context: Pick<CallContext, "signal">,
): AsyncGenerator<ResponseInit> {
  const request = readRequest(message);
  const month = message.month || null;
  const createdAt = new Date(deps.wallClock());
  const { sink, read } = coalesceText<GenerationEvent>(() => deps.flushClock.waitForFlush());
  const { result, cancel, getWaits } = deps.generationRunner.start(request, context.signal, sink);
  let isFirst = true;
  let hasOutput = false;
  /** Builds a response. The stream's first response also reports the generation's waiting times so far. */
  const toResponse = (event: ResponseInit["event"]): ResponseInit => {
    const response = { ...(event && { event }), ...(isFirst && { waits: toWaits(getWaits()) }) };
    isFirst = false;
    return response;
  };
  const removeFromClock = deps.flushClock.addGeneration();
  try {
    for await (const event of read({ done: result, cancel })) {
      if (typeof event !== "string" && "isOutputStart" in event) {
        if (!hasOutput) yield { event: { case: "outputStart", value: {} } };
        hasOutput = true;
        continue;
      }
      hasOutput = true;
      if (typeof event === "string") {
        for (const text of splitText(event)) yield toResponse({ case: "delta", value: { text } });
        failpoint("llm.token");
      } else if ("isTextComplete" in event) {
        yield toResponse({ case: "finish", value: { finishDetail: event.finishDetail } });
      } else if ("citation" in event) {
        yield toResponse({ case: "citation", value: event.citation });
      } else if ("isToolRoundStart" in event) yield toResponse({ case: "toolRound", value: {} });
      else yield toResponse({ case: "toolCall", value: event });
    }
    yield toResponse({ case: "end", value: toEnd(await result) });
  } finally {
    removeFromClock();
    deps.callLog.add({ ...toCallRow(request, await result), callId: deps.createId(), month, createdAt });
  }
}

function readRequest({ workspaceId, turnId, model, prompt }: GenerateRequest): GenerationRequest {
  return { workspaceId, turnId, model, prompt: readPrompt(prompt) };
}

function toEnd(result: GenerationResult): MessageInitShape<typeof GenerateEndSchema> {
  const { outcome, attempts, usage, sentAttempts, verdict, isProviderFailure = false } = result;
  return {
    status: GENERATION_STATUSES[outcome],
    model: attempts.findLast(({ isSent }) => isSent)?.request.candidate.model ?? "",
    tokensIn: usage.tokensIn,
    tokensOut: usage.tokensOut,
    tokensEstimated: usage.isEstimated,
    attempts: sentAttempts,
    isProviderFailure,
    ...(verdict && { blocked: verdict }),
  };
}

function toWaits({ queueMs, providerMs }: FirstTextWaits): MessageInitShape<typeof WaitsSchema> {
  return { queueMicroseconds: toMicroseconds(queueMs), providerMicroseconds: toMicroseconds(providerMs) };
}

function toMicroseconds(ms: number): bigint {
  return BigInt(Math.max(0, Math.round(ms * 1_000)));
}
