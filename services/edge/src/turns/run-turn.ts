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
import { ToolTime } from "./tool-time.ts";
import type { TurnCloser } from "./turn-closer.ts";
import { splitOpening, splitWait, timeOf } from "./turn-time.ts";

const OPEN_TIMEOUT_MS = 10_000;
const RESERVE_TIMEOUT_MS = 10_000;
/** Above the llm-proxy's own limit of five minutes, which ends a stream more gently. */
const GENERATE_TIMEOUT_MS = 310_000;

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

export type TurnSignals = {
  /** Aborted when the visitor's connection is gone. */
  visitor: AbortSignal;
  /** Aborted when it is gone, or this process must end its streams. */
  over: AbortSignal;
};

/** What became of a turn, for the log and the metrics; no content. */
export type TurnReport = {
  turnId: string;
  workspaceId: string;
  finish: FinishReason | "cancelled";
  errorCode: string;
  firstTokenMs: number;
  done: Done;
  /** What was thrown on the way, if anything was. */
  cause?: unknown;
};

/** How a reply ended, before it is stored. */
type Ending = {
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
  /** What was thrown, for the log. */
  cause?: unknown;
};

/**
 * The life of a turn: open it, hold a message of the quota, stream the model's reply, store how it ended, and only then say so.
 * Writes to `sink` exactly one meta first and one done last. Throws only before meta: RpcError when the turn could not be opened.
 */
export async function runTurn(
  deps: TurnDeps,
  request: TurnRequest,
  sink: TurnSink,
  signals: TurnSignals,
  watch: Stopwatch,
): Promise<TurnReport> {
  const turnId = deps.newTurnId();
  const { workspaceId, sessionId } = request;
  tracer()?.annotate({ "parley.turn_id": turnId, "parley.workspace_id": workspaceId });

  const opened = await openTurn(deps, { ...request, turnId, edgeId: deps.edgeId }, watch);
  failpoint("edge.opened");
  sink.meta({ session_id: sessionId, message_id: Number(opened.messageId) });

  // A blocked turn was stored as such when it was opened; it costs nothing and holds nothing.
  if (opened.blocked !== undefined) {
    const { reason, fallback } = opened.blocked;
    const time = timeOf(watch);
    sink.blocked({ reason, fallback });
    const report = finish(sink, {
      turnId,
      workspaceId,
      finish: "blocked",
      errorCode: "",
      firstTokenMs: 0,
      done: doneOf("blocked", time),
    });
    deps.closer.note({ workspaceId, turnId, outcome: OUTCOMES.blocked.proto, ...time });
    return report;
  }

  const ending = await answer(
    deps,
    { workspaceId, turnId, model: opened.model, prompt: opened.prompt },
    sink,
    signals,
    watch,
  );
  const time = timeOf(watch);
  watch.enter("close");
  failpoint("edge.answered");
  const { quota: _, blocked, cause, outcome, ...content } = ending;
  const stored = await deps.closer.close({
    workspaceId,
    turnId,
    outcome: OUTCOMES[outcome].proto,
    ...content,
    blockedReason: blocked?.reason ?? "",
    ...time,
  });

  failpoint("edge.closed");
  return reportEnd(
    sink,
    { turnId, workspaceId, firstTokenMs: ending.firstTokenMs, cause },
    ending,
    stored,
    time.latencyMs,
  );
}

/** Throws when the turn could not be opened; one that may have been opened all the same is seen to. */
async function openTurn(deps: TurnDeps, request: TurnRequest & { turnId: string; edgeId: string }, watch: Stopwatch) {
  watch.enter("open");
  try {
    const opened = await deps.conversation.openTurn(request, { timeoutMs: OPEN_TIMEOUT_MS });
    splitOpening(watch, opened);
    return opened;
  } catch (error) {
    const isRefusal = error instanceof RpcError && error.status === status.NOT_FOUND;
    const { workspaceId, turnId } = request;
    if (!isRefusal) deps.closer.abandon({ workspaceId, turnId, ...timeOf(watch) });
    throw error;
  }
}

type Question = { workspaceId: string; turnId: string; model: string; prompt: Uint8Array };

/** Holds a message and streams the reply. Whatever goes wrong is an ending, never an exception. */
async function answer(
  deps: TurnDeps,
  question: Question,
  sink: TurnSink,
  signals: TurnSignals,
  watch: Stopwatch,
): Promise<Ending> {
  const ending: Ending = {
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
  try {
    const { workspaceId, turnId } = question;
    watch.enter("reserve");
    const hold = await deps.quota.reserve({ workspaceId, turnId }, { timeoutMs: RESERVE_TIMEOUT_MS });
    failpoint("edge.reserved");
    if (hold.status === ReserveStatus.EXCEEDED) {
      const { plan, used, cap } = hold;
      const quota: QuotaExceeded = { code: "quota_exceeded", plan, used, cap, message: quotaExceededMessage() };
      return { ...ending, outcome: "quota_exceeded", errorCode: "", quota };
    }
    if (hold.status !== ReserveStatus.HELD) return ending;
    ending.month = hold.month;
    await stream(deps, question, ending, sink, signals.over, watch);
  } catch (error) {
    // An RPC failed or was cancelled: internal_error, unless the reply had ended before.
    ending.cause = error;
  }
  // Who left does not see the end; that is not a failure of ours, unless the reply was complete already.
  if (signals.visitor.aborted && ending.outcome !== "done") return { ...ending, outcome: "cancelled", errorCode: "" };
  return ending;
}

/** Streams the model's reply into the sink and notes in `ending` what came and how it ended. */
async function stream(
  deps: TurnDeps,
  question: Question,
  ending: Ending,
  sink: TurnSink,
  signal: AbortSignal,
  watch: Stopwatch,
): Promise<void> {
  const tools = new ToolTime(watch);
  watch.enter("first_token");
  for await (const { event, waits } of deps.llm.generate(
    { ...question, month: ending.month },
    { timeoutMs: GENERATE_TIMEOUT_MS, signal },
  )) {
    if (waits !== undefined) splitWait(watch, waits);
    if (event.case === "delta") {
      if (ending.content === "") ending.firstTokenMs = watch.elapsedMs();
      ending.content += event.value.text;
      failpoint("edge.token");
      watch.enter("tokens");
      const taken = sink.token(event.value.text);
      if (taken !== undefined) {
        watch.enter("reader");
        await taken;
        watch.enter("tokens");
      }
    } else if (event.case === "toolCall") {
      const { name, arguments: given, status, latencyMs } = event.value;
      ending.toolsCalled.push({ name, arguments: given, status, latencyMs });
      tools.add(latencyMs);
    } else if (event.case === "end") {
      const { model, tokensIn, tokensOut } = event.value;
      Object.assign(ending, { model, tokensIn, tokensOut }, outcomeOf(event.value));
    }
  }
}

/** How a generation's end is stored. A blocked reply keeps only the text that is shown in its place. */
function outcomeOf({ status, blocked }: GenerateEnd): Partial<Ending> {
  const after = turnAfterGeneration(status);
  if (after.outcome !== "blocked" || blocked === undefined) return after;
  const { reason, fallback } = blocked;
  return { ...after, content: fallback, blocked: { reason, fallback } };
}

/** Reports the stored outcome to the visitor. It differs from the one seen here if another process closed the turn first. */
function reportEnd(
  sink: TurnSink,
  turn: Pick<TurnReport, "turnId" | "workspaceId" | "firstTokenMs" | "cause">,
  ending: Ending,
  stored: CloseTurnResponse | undefined,
  latencyMs: number,
): TurnReport {
  const outcome = (stored && outcomeFromProto(stored.outcome)) ?? "error";
  const { finishReason, metric } = OUTCOMES[outcome];
  const done = doneOf(finishReason, stored ?? { ...ending, latencyMs });
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
  return finish(sink, { ...turn, finish: metric, errorCode, done });
}

type Metering = { tokensIn?: number; tokensOut?: number; latencyMs: number; model?: string };

function doneOf(finishReason: FinishReason, { tokensIn = 0, tokensOut = 0, latencyMs, model = "" }: Metering): Done {
  return { finish_reason: finishReason, tokens_in: tokensIn, tokens_out: tokensOut, latency_ms: latencyMs, model };
}

function finish(sink: TurnSink, report: TurnReport): TurnReport {
  sink.done(report.done);
  return report;
}
