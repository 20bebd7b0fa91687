import { type RpcClient, RpcError, status } from "@parley/rpc";
import type { CloseTurnResponse, ConversationService } from "@parley/rpc/conversation";
import type { GenerateEnd, LlmService, ToolCall } from "@parley/rpc/llm";
import {
  type FailureCode,
  type FinishReason,
  OUTCOMES,
  type Outcome,
  outcomeFromProto,
  turnAfterGeneration,
} from "@parley/rpc/outcomes";
import { type QuotaService, ReserveStatus } from "@parley/rpc/quota";
import { failpoint, tracer } from "@parley/service-kit";
import type { Blocked, Done, QuotaExceeded, TurnSink } from "./events.ts";
import { failure, quotaExceededMessage } from "./failures.ts";
import type { Stopwatch } from "./stopwatch.ts";
import type { TurnCloser } from "./turn-closer.ts";
import { measureTime, splitOpen, splitWait } from "./turn-time.ts";

const OPEN_TIMEOUT_MS = 10_000;
const RESERVE_TIMEOUT_MS = 10_000;
/** Longer than the llm-proxy's own limit of five minutes, which ends a generation with a proper status. */
const GENERATE_TIMEOUT_MS = 310_000;
/**
 * If a reply with text is interrupted (the visitor disconnects or the process stops), how long the edge waits for the reply to finish.
 * Providers send the finish reason right after the last text.
 */
const FINISH_WAIT_MS = 250;

export type TurnDeps = {
  conversation: RpcClient<typeof ConversationService>;
  quota: RpcClient<typeof QuotaService>;
  llm: RpcClient<typeof LlmService>;
  closer: TurnCloser;
  edgeId: string;
  newTurnId: () => string;
};

export type TurnRequest = {
  workspaceId: string;
  botId: string;
  source: "widget" | "playground";
  sessionId: string;
  message: string;
  visitorId: string;
  visitorMetadata: string;
  referrer: string;
  userAgent: string;
};

export type TurnContext = {
  sink: TurnSink;
  /** Aborted when the visitor's connection closes. */
  visitorGone: AbortSignal;
  /** Aborted when the visitor's connection closes or this process must end its streams. */
  mustEnd: AbortSignal;
  watch: Stopwatch;
};

/** The result of a turn for the log and the metrics. Contains no content. */
export type TurnReport = {
  turnId: string;
  workspaceId: string;
  finish: FinishReason | "cancelled";
  errorCode: string;
  firstTokenMs: number;
  done: Done;
  /** The error that failed the turn, if there was one. */
  cause?: unknown;
};

/** How a reply ended, before it is stored. */
type Ending = Readonly<{
  outcome: Outcome;
  content: string;
  model: string;
  tokensIn: number;
  tokensOut: number;
  firstTokenMs: number;
  errorCode: FailureCode | "";
  month: string;
  toolsCalled: Pick<ToolCall, "name" | "arguments" | "status" | "latencyMs">[];
  quota?: QuotaExceeded;
  blocked?: Blocked;
  /** The error that failed the turn, for the log. */
  cause?: unknown;
}>;

const INTERNAL_ERROR: Ending = {
  outcome: "error",
  content: "",
  model: "",
  tokensIn: 0,
  tokensOut: 0,
  firstTokenMs: 0,
  errorCode: "internal_error",
  month: "",
  toolsCalled: [],
};

/** The ending of a reply with complete text, even if its token counts are lost. */
const COMPLETE = { outcome: "done", errorCode: "" } as const;

/**
 * Runs a turn: opens it, reserves a message of the quota, streams the reply, stores the outcome, then sends `done`.
 * Writes exactly one `meta` first and one `done` last. Throws only before `meta`: RpcError when the turn could not be opened.
 */
export async function runTurn(deps: TurnDeps, request: TurnRequest, context: TurnContext): Promise<TurnReport> {
  const { sink, watch } = context;
  const turn = { workspaceId: request.workspaceId, turnId: deps.newTurnId() };
  tracer()?.annotate({ "parley.turn_id": turn.turnId, "parley.workspace_id": turn.workspaceId });

  const opened = await openTurn(deps, { ...request, ...turn, edgeId: deps.edgeId }, watch);
  const openedAtMs = watch.elapsedMs();
  failpoint("edge.opened");
  sink.meta({ session_id: request.sessionId, message_id: Number(opened.messageId) });

  // OpenTurn has already stored a blocked turn. It needs no hold and counts against no quota.
  if (opened.blocked !== undefined) {
    const { reason, fallback } = opened.blocked;
    const time = measureTime(watch);
    sink.blocked({ reason, fallback });
    const done = doneOf("blocked", time);
    sink.done(done);
    deps.closer.recordTimings({ ...turn, outcome: OUTCOMES.blocked.proto, ...time });
    return { ...turn, finish: "blocked", errorCode: "", firstTokenMs: 0, done };
  }

  const ending = await reserveAndGenerate(deps, { ...turn, model: opened.model, prompt: opened.prompt }, context);
  const time = measureTime(watch);
  watch.enter("close");
  failpoint("edge.answered");
  const { quota: _, blocked, cause, outcome, ...content } = ending;
  const { databaseTimeMicroseconds: openedAt } = opened;
  const elapsedMs = watch.elapsedMs() - openedAtMs;
  const stored = await deps.closer.close(
    { ...turn, outcome: OUTCOMES[outcome].proto, ...content, blockedReason: blocked?.reason ?? "", ...time },
    openedAt === undefined ? undefined : openedAt + BigInt(elapsedMs * 1_000),
  );

  failpoint("edge.closed");
  const end = sendEnd(sink, ending, stored, time.latencyMs);
  return { ...turn, firstTokenMs: ending.firstTokenMs, cause, ...end };
}

/** Throws when OpenTurn fails. If the turn may have been opened nevertheless, the closer closes it later. */
async function openTurn(deps: TurnDeps, request: TurnRequest & { turnId: string; edgeId: string }, watch: Stopwatch) {
  watch.enter("open");
  try {
    const opened = await deps.conversation.openTurn(request, { timeoutMs: OPEN_TIMEOUT_MS });
    splitOpen(watch, opened);
    return opened;
  } catch (error) {
    const isRefusal = error instanceof RpcError && error.status === status.NOT_FOUND;
    const { workspaceId, turnId } = request;
    if (!isRefusal) deps.closer.closeIfOpened({ workspaceId, turnId, ...measureTime(watch) });
    throw error;
  }
}

type GenerationInput = { workspaceId: string; turnId: string; model: string; prompt: Uint8Array };

/** Reserves a message of the quota and streams the reply. Returns failures as an ending and never throws. */
async function reserveAndGenerate(deps: TurnDeps, input: GenerationInput, context: TurnContext): Promise<Ending> {
  const { workspaceId, turnId } = input;
  context.watch.enter("reserve");
  let month: string;
  try {
    const hold = await deps.quota.reserve({ workspaceId, turnId }, { timeoutMs: RESERVE_TIMEOUT_MS });
    failpoint("edge.reserved");
    if (hold.status === ReserveStatus.EXCEEDED) {
      const { plan, used, cap } = hold;
      const quota: QuotaExceeded = { code: "quota_exceeded", plan, used, cap, message: quotaExceededMessage() };
      return { ...INTERNAL_ERROR, outcome: "quota_exceeded", errorCode: "", quota };
    }
    if (hold.status !== ReserveStatus.HELD) return INTERNAL_ERROR;
    month = hold.month;
  } catch (cause) {
    return cancelledIfGone({ ...INTERNAL_ERROR, cause }, context);
  }
  return cancelledIfGone(await generate(deps, { ...input, month }, context), context);
}

/**
 * Streams the reply into the sink. If the call fails, returns an internal error with the text and tool calls received so far. Once the
 * text is complete, the reply is `done`: if the visitor disconnects then, the call continues until the token counts arrive.
 */
async function generate(
  deps: TurnDeps,
  input: GenerationInput & { month: string },
  { sink, mustEnd, watch }: TurnContext,
): Promise<Ending> {
  let content = "";
  let firstTokenMs = 0;
  let end: GenerateEnd | undefined;
  let isTextComplete = false;
  let longestCallMs = 0;
  let cause: unknown;
  const toolsCalled: Ending["toolsCalled"] = [];
  const cancellation = cancelWith(mustEnd, () => content !== "");
  watch.enter("first_token");
  try {
    const options = { timeoutMs: GENERATE_TIMEOUT_MS, signal: cancellation.signal };
    for await (const { event, waits } of deps.llm.generate(input, options)) {
      if (waits !== undefined) splitWait(watch, waits);
      if (event.case === "delta") {
        const { text } = event.value;
        if (content === "") firstTokenMs = watch.elapsedMs();
        content += text;
        longestCallMs = 0;
        failpoint("edge.token");
        watch.enter("tokens");
        const drained = sink.token(text);
        if (drained !== undefined) {
          watch.enter("reader");
          await drained;
          watch.enter("tokens");
        }
      } else if (event.case === "toolCall") {
        const { name, arguments: args, status, latencyMs } = event.value;
        toolsCalled.push({ name, arguments: args, status, latencyMs });
        // Before the first text, both the calls and the provider requests between them are waits outside Parley.
        if (content === "") watch.enter("provider");
        // The calls of a round run in parallel, so a round takes as long as its longest call. The edge cannot distinguish rounds
        // without text between them and counts them as one.
        watch.split([["tools", latencyMs - longestCallMs]]);
        longestCallMs = Math.max(longestCallMs, latencyMs);
      } else if (event.case === "finish") {
        isTextComplete = true;
        cancellation.dispose();
      } else if (event.case === "end") end = event.value;
    }
  } catch (error) {
    cause = error;
  }
  cancellation.dispose();
  const received = { ...INTERNAL_ERROR, month: input.month, content, firstTokenMs, toolsCalled, cause };
  return { ...received, ...(end && resultOf(end)), ...(isTextComplete && COMPLETE) };
}

type Cancellation = {
  signal: AbortSignal;
  /** Prevents a later cancellation. */
  dispose: () => void;
};

/** Returns a signal that cancels a Generate call when its stream must end: at once, or after FINISH_WAIT_MS if the reply has text. */
function cancelWith(mustEnd: AbortSignal, hasText: () => boolean): Cancellation {
  const call = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const cancel = () => {
    if (hasText()) timer = setTimeout(() => call.abort(), FINISH_WAIT_MS);
    else call.abort();
  };
  if (mustEnd.aborted) cancel();
  else mustEnd.addEventListener("abort", cancel, { once: true });
  return {
    signal: call.signal,
    dispose() {
      mustEnd.removeEventListener("abort", cancel);
      clearTimeout(timer);
    },
  };
}

/** Returns the fields that the `end` message of a generation sets. In a blocked reply, the fallback replaces the text. */
function resultOf({ status, model, tokensIn, tokensOut, blocked }: GenerateEnd): Partial<Ending> {
  const result = { model, tokensIn, tokensOut, ...turnAfterGeneration(status) };
  if (result.outcome !== "blocked" || blocked === undefined) return result;
  const { reason, fallback } = blocked;
  return { ...result, content: fallback, blocked: { reason, fallback } };
}

/** An incomplete reply counts as cancelled when its visitor is gone, even if it failed too. */
function cancelledIfGone(ending: Ending, { visitorGone }: TurnContext): Ending {
  if (!visitorGone.aborted || ending.outcome === "done") return ending;
  return { ...ending, outcome: "cancelled", errorCode: "" };
}

/** Sends the stored outcome to the visitor. It differs from `ending` if another process closed the turn first. */
function sendEnd(
  sink: TurnSink,
  ending: Ending,
  stored: CloseTurnResponse | undefined,
  latencyMs: number,
): Pick<TurnReport, "finish" | "errorCode" | "done"> {
  const outcome = (stored && outcomeFromProto(stored.outcome)) ?? "error";
  const { finishReason, metric } = OUTCOMES[outcome];
  let errorCode = "";
  if (outcome === "quota_exceeded") {
    errorCode = "quota_exceeded";
    if (ending.quota !== undefined) sink.error(ending.quota);
  } else if (outcome === "blocked") {
    if (ending.blocked !== undefined) sink.blocked(ending.blocked);
  } else if (metric === "error") {
    const code = ending.errorCode === "" ? "internal_error" : ending.errorCode;
    errorCode = code;
    sink.error(failure(code));
  }
  const done = doneOf(finishReason, stored ?? { ...ending, latencyMs });
  sink.done(done);
  return { finish: metric, errorCode, done };
}

type Metering = { tokensIn?: number; tokensOut?: number; latencyMs: number; model?: string };

function doneOf(finishReason: FinishReason, { tokensIn = 0, tokensOut = 0, latencyMs, model = "" }: Metering): Done {
  return { finish_reason: finishReason, tokens_in: tokensIn, tokens_out: tokensOut, latency_ms: latencyMs, model };
}
