import type { CallOptions, RpcClient } from "@parley/rpc";
import type { OpenTurnResponse } from "@parley/rpc/conversation";
import type { GenerateCitation, GenerateEnd, GenerateResponse, LlmService } from "@parley/rpc/llm";
import { toFinishDetail, turnOutcomeAfterGeneration } from "@parley/rpc/outcomes";
import { failpoint, GENERATE_TIMEOUT_MS } from "@parley/service-kit";
import type { TurnSink } from "./ending.ts";
import { createReplyResult, type ReplyResult } from "./reply-result.ts";
import type { Stopwatch } from "./stopwatch.ts";
import { splitProviderWait } from "./turn-time.ts";

/**
 * How long a reply that has text may continue after `endSignal` is aborted. The reply may be almost complete: providers send the finish reason
 * right after the last text.
 */
const FINISH_WAIT_MS = 500;

/** The outcome of a reply with complete text, even if its token counts are lost. */
const COMPLETED = { outcome: "done", errorCode: "" } as const;

/**
 * How long all waits for a slow reader together must take for a failed reply to be unpaid: they can make the generation reach its total timeout
 * when the visitor has nearly all of the text.
 */
const SLOW_READER_MS = 30_000;

export type GenerationInput = {
  workspaceId: string;
  turnId: string;
  month: string;
  day: string;
  opened: OpenTurnResponse;
};

export type GenerationContext = {
  sink: TurnSink;
  /**
   * Ends the generation. Aborted when the reply is cancelled, or when this process must end its streams. In the second case, a reply that is
   * not complete gets the outcome `error`.
   */
  endSignal: AbortSignal;
  stopwatch: Stopwatch;
};

/**
 * Streams the reply into the sink. If the Generate call fails, the result is an internal error with the text and tool calls received so far.
 * Once the text is complete, the reply is `done`, and `endSignal` no longer cancels the call, so that the token counts arrive.
 */
export async function generateReply(
  llm: RpcClient<typeof LlmService>,
  input: GenerationInput,
  { sink, endSignal, stopwatch }: GenerationContext,
): Promise<ReplyResult> {
  let content = "";
  let firstTokenMs = 0;
  let end: GenerateEnd | undefined;
  let completed: Partial<ReplyResult> | undefined;
  let hasToolRound = false;
  let hasHiddenOutput = false;
  let cause: unknown;
  const toolsCalled: ReplyResult["toolsCalled"] = [];
  const citations: GenerateCitation[] = [];
  const cancellation = createCancellation(endSignal, () => content !== "");
  stopwatch.enter("first_token");
  try {
    const options = { timeoutMs: GENERATE_TIMEOUT_MS, signal: cancellation.signal };
    for await (const { event, waits } of startGeneration(llm, input, options)) {
      if (waits !== undefined) splitProviderWait(stopwatch, waits);
      if (event.case === "delta") {
        const { text } = event.value;
        if (content === "") firstTokenMs = stopwatch.elapsedMs();
        content += text;
        failpoint("edge.token");
        stopwatch.enter("tokens");
        const drained = sink.token(text);
        if (drained !== undefined) {
          stopwatch.enter("reader");
          await drained;
          stopwatch.enter("tokens");
        }
      } else if (event.case === "outputStart") {
        hasHiddenOutput = true;
      } else if (event.case === "toolRound") {
        hasToolRound = true;
        if (content === "") stopwatch.enter("provider");
      } else if (event.case === "toolCall") {
        const { name, arguments: args, status, latencyMs, roundLatencyMs } = event.value;
        toolsCalled.push({ name, arguments: args, status, latencyMs });
        // Moves the time of the round's tool calls from the phase `provider` (after the first text, from `tokens`) to the phase `tools`.
        if (content === "") stopwatch.enter("provider");
        stopwatch.split([["tools", roundLatencyMs]]);
      } else if (event.case === "citation") {
        citations.push(event.value);
      } else if (event.case === "finish") {
        completed = { ...COMPLETED, finishDetail: toFinishDetail(event.value.finishDetail) };
        cancellation.dispose();
      } else if (event.case === "end") end = event.value;
    }
  } catch (error) {
    cause = error;
  }
  cancellation.dispose();
  const { month, day } = input;
  const hasOutput = content !== "" || hasToolRound || hasHiddenOutput;
  // Tokens without a text are the model's thoughts, up to a limit of tokens.
  const hasOnlyThoughts = content.trim() === "" && (end?.tokensOut ?? 0) > 0;
  const isCostly = hasToolRound || hasOnlyThoughts || readerMs(stopwatch) >= SLOW_READER_MS;
  // Without `end`, a part of Parley failed.
  const isVisitorFailure = end !== undefined && !end.isProviderFailure && isCostly;
  const received = {
    month,
    day,
    content,
    firstTokenMs,
    toolsCalled,
    // The text of the others is held back by moderation.
    citations: citations.filter(({ offset }) => offset <= content.length),
    hasOutput,
    isVisitorFailure,
    cause,
  };
  return createReplyResult({ ...received, ...(end && resultFromEnd(end)), ...completed });
}

function readerMs({ phases }: Stopwatch): number {
  return (phases.find(({ name }) => name === "reader")?.microseconds ?? 0) / 1_000;
}

/** Starts the Generate call. Removes the prompt from `opened`, because a prompt with knowledge takes a third of a running turn's memory. */
function startGeneration(
  llm: RpcClient<typeof LlmService>,
  { opened, day: _day, ...turn }: GenerationInput,
  options: CallOptions,
): AsyncIterable<GenerateResponse> {
  const { model, prompt } = opened;
  opened.prompt = new Uint8Array();
  return llm.generate({ ...turn, model, prompt }, options);
}

type Cancellation = {
  signal: AbortSignal;
  /** Prevents a later cancellation. */
  dispose: () => void;
};

/** Returns a signal that is aborted with `endSignal`, or FINISH_WAIT_MS later if the reply has text. */
function createCancellation(endSignal: AbortSignal, hasText: () => boolean): Cancellation {
  const call = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const cancel = () => {
    if (hasText()) timer = setTimeout(() => call.abort(), FINISH_WAIT_MS);
    else call.abort();
  };
  if (endSignal.aborted) cancel();
  else endSignal.addEventListener("abort", cancel, { once: true });
  return {
    signal: call.signal,
    dispose() {
      endSignal.removeEventListener("abort", cancel);
      clearTimeout(timer);
    },
  };
}

/** Returns the fields that the `end` event of a generation sets. In a blocked reply, the fallback replaces the text. */
function resultFromEnd({ status, model, tokensIn, tokensOut, blocked }: GenerateEnd): Partial<ReplyResult> {
  const result = { model, tokensIn, tokensOut, ...turnOutcomeAfterGeneration(status) };
  if (result.outcome !== "blocked") return result;
  if (blocked === undefined) return { ...result, hasOutput: true };
  const { reason, fallback } = blocked;
  return { ...result, content: fallback, blocked: { reason, fallback }, hasOutput: true };
}
