import { type RpcClient, RpcError } from "@parley/rpc";
import type { CloseTurnResponse, ConversationService, OpenTurnResponse } from "@parley/rpc/conversation";
import type { LlmService } from "@parley/rpc/llm";
import { type ErrorCode, OUTCOMES, outcomeFromProto } from "@parley/rpc/outcomes";
import { type QuotaService, ReserveStatus } from "@parley/rpc/quota";
import { currentTracer, failpoint } from "@parley/service-kit";
import type { UnpaidReplyLimiter } from "../rate-limits/index.ts";
import { requireConsent } from "./consent.ts";
import { createTerminalEvents, type TurnEnding } from "./ending.ts";
import type { BlockedEvent, DoneEvent } from "./events.ts";
import { type GenerationContext, type GenerationInput, generateReply } from "./generate-reply.ts";
import type { LiveSignal } from "./live-signal.ts";
import { createReplyResult, isUnpaid, listSources, type ReplyResult } from "./reply-result.ts";
import type { RunningTurns } from "./running-turns.ts";
import type { Stopwatch } from "./stopwatch.ts";
import type { TurnCloser } from "./turn-closer.ts";
import type { TurnStartLimiter } from "./turn-start-limiter.ts";
import { readTimings, splitRetrievalTime } from "./turn-time.ts";

const OPEN_TIMEOUT_MS = 10_000;
const RESERVE_TIMEOUT_MS = 10_000;

export type TurnDeps = {
  conversation: RpcClient<typeof ConversationService>;
  quota: RpcClient<typeof QuotaService>;
  llm: RpcClient<typeof LlmService>;
  turnCloser: TurnCloser;
  runningTurns: RunningTurns;
  turnStartLimiter: TurnStartLimiter;
  unpaidReplies: UnpaidReplyLimiter;
  /** Wakes the streams of a session's visitor, at all edges. */
  publishLive: (signal: LiveSignal) => void;
  edgeId: string;
};

export type TurnRequest = {
  /** The id of the HTTP request, which is also the id of the turn that the request opens. */
  turnId: string;
  workspaceId: string;
  botId: string;
  source: "widget" | "playground";
  sessionId: string;
  message: string;
  visitorId: string;
  /** Whether a visitor token has verified `visitorId`. */
  visitorVerified: boolean;
  visitorMetadata: string;
  referrer: string;
  userAgent: string;
  acceptLanguage: string;
  /** The version of the bot's consent that the visitor agrees to; empty if none. */
  consentVersion: string;
  /** A keyed hash of the client's network or user, for the bounds on its holds and its unpaid replies. */
  client: Uint8Array;
};

export type TurnContext = GenerationContext & {
  /** Counts the message before its turn is opened. Throws if the message is refused. */
  countMessage?: (() => Promise<void>) | undefined;
  /** Frees the turn's place in TurnStartLimiter. Called when the turn has started or failed. Repeated calls have no effect. */
  releaseStart: () => void;
  /** Aborted when the visitor disconnects or stops the reply: a reply that is neither complete nor blocked then gets the outcome `cancelled`. */
  cancelSignal: AbortSignal;
  /** Set for a turn with an idempotency key. If the outcome cannot be stored, the sink of such a turn gets no ending. */
  keyed?: {
    /** Called before CloseTurn is sent. */
    onClosing(): void;
    countReconnects(): number;
  };
};

/** The result of a turn for the log and the metrics. Contains no text of the message or the reply. */
export type TurnReport = {
  turnId: string;
  workspaceId: string;
  errorCode: ErrorCode;
  firstTokenMs: number;
  isUnpaid: boolean;
  done: DoneEvent;
  /** The error that failed the turn, if there was one. */
  cause?: unknown;
};

export type IdentifiedTurn = TurnRequest & {
  edgeId: string;
  keyHash?: Uint8Array;
  requestHash?: Uint8Array;
};

export function identifyTurn(deps: TurnDeps, request: TurnRequest): IdentifiedTurn {
  const { turnId, workspaceId } = request;
  currentTracer()?.annotateActiveSpan({ "parley.turn_id": turnId, "parley.workspace_id": workspaceId });
  return { ...request, edgeId: deps.edgeId };
}

/**
 * Runs a turn without an idempotency key. The sink gets exactly one `meta` first and one `end` last. Throws only before `meta`: RpcError if the
 * turn could not be opened or too many turns are starting, HttpError 403 if the visitor must agree to a consent first, HttpError 499 if the visitor left
 * before the turn could start, or an error of `countMessage`.
 * @param cancel cancels the reply; called when another request stops it.
 */
export async function runTurn(
  deps: TurnDeps,
  request: TurnRequest,
  context: Omit<TurnContext, "releaseStart">,
  cancel: () => void,
): Promise<TurnReport> {
  const turn = identifyTurn(deps, request);
  const running = deps.runningTurns.add(turn, cancel);
  let releaseStart: (() => void) | undefined;
  try {
    context.stopwatch.enter("open");
    releaseStart = await deps.turnStartLimiter.begin(turn.workspaceId, context.cancelSignal);
    await context.countMessage?.();
    const opened = await openTurn(deps, turn, context.stopwatch).catch((error: unknown) => {
      handleOpenFailure(deps, turn, error, context.stopwatch);
      throw error;
    });
    requireConsent(opened);
    const completed = await completeTurn(deps, turn, opened, { ...context, releaseStart });
    // A call of RunningTurns.cancel() that waits for this turn returns this ending when the turn is removed.
    running.ending = completed.ending;
    return completed.report;
  } finally {
    releaseStart?.();
    deps.runningTurns.remove(turn.turnId);
  }
}

/**
 * Runs an opened turn to its end. `ending` is the stored ending; undefined if it is unknown whether an outcome is stored. OpenTurn itself closes a
 * turn whose message it blocks, so such a turn does not count against the quota, and CloseTurn only adds its timings.
 *
 * | blocked by OpenTurn | key | the sink gets                          | the report has                  |
 * | ------------------- | --- | -------------------------------------- | ------------------------------- |
 * | yes                 | no  | the result, before CloseTurn           | the result                      |
 * | yes                 | yes | the stored ending, if it is known      | the stored ending or the result |
 * | no                  | no  | the stored ending or an error          | the same                        |
 * | no                  | yes | the stored ending, if it is known      | the stored ending or an error   |
 *
 * OpenTurn also closes a turn whose message is for a person of the team. Its stored ending is known.
 */
export async function completeTurn(
  deps: TurnDeps,
  request: IdentifiedTurn,
  opened: OpenTurnResponse,
  context: TurnContext,
): Promise<{ report: TurnReport; ending: TurnEnding | undefined }> {
  const { sink, stopwatch, keyed } = context;
  const turn = { workspaceId: request.workspaceId, turnId: request.turnId };
  const openedAtMs = stopwatch.elapsedMs();
  failpoint("edge.opened");
  sink.meta({ session_id: request.sessionId, message_id: Number(opened.messageId) });

  if (opened.handoff !== undefined) return endHandoff(deps, request, context);
  const result =
    opened.blocked === undefined
      ? await reserveAndGenerate(deps, { ...turn, opened }, request.client, context)
      : createBlockedResult(opened.blocked);
  const { blocked, cause, outcome, day, citations, hasOutput: _, isVisitorFailure: __, ...resultFields } = result;
  const time = readTimings(stopwatch);
  const report = { ...turn, firstTokenMs: result.firstTokenMs, isUnpaid: isUnpaid(result), cause };
  const ownEnding = { ...result, sources: listSources(citations), latencyMs: time.latencyMs };
  if (opened.blocked !== undefined && keyed === undefined) {
    sink.end(ownEnding);
    deps.turnCloser.recordTimings({ ...turn, outcome: OUTCOMES[outcome].proto, ...time });
    return { report: { ...report, ...createReportFields(ownEnding) }, ending: ownEnding };
  }

  stopwatch.enter("close");
  failpoint("edge.answered");
  keyed?.onClosing();
  // CloseTurn frees the client's hold. Counting before it makes the next turn that gets the hold see this reply. A takeover is no act of the client,
  // so only the workspace's bound, which limits the operator's costs, counts it.
  const isTakenOver = outcome === "cancelled" && deps.runningTurns.get(turn.turnId)?.isTakenOver === true;
  if (report.isUnpaid && !isTakenOver) await deps.unpaidReplies.count(request.client);
  const { databaseTimeMicroseconds: openedAtMicroseconds } = opened;
  const elapsedMs = stopwatch.elapsedMs() - openedAtMs;
  const stored = await deps.turnCloser.close(
    {
      ...turn,
      outcome: OUTCOMES[outcome].proto,
      ...resultFields,
      chunksCited: citations.map(({ chunkId }) => chunkId),
      sources: ownEnding.sources,
      blockedReason: blocked?.reason ?? "",
      reconnects: keyed?.countReconnects() ?? 0,
      unpaidDay: report.isUnpaid ? day : "",
      ...time,
    },
    openedAtMicroseconds === undefined ? undefined : openedAtMicroseconds + BigInt(elapsedMs * 1_000),
    { isKeyed: keyed !== undefined },
  );
  failpoint("edge.closed");

  const storedEnding = stored && mergeStored(ownEnding, stored);
  if (storedEnding?.handoff !== undefined)
    deps.publishLive({ workspaceId: turn.workspaceId, sessionId: request.sessionId, type: "changed" });
  const ending = storedEnding ?? (opened.blocked ? ownEnding : { ...ownEnding, outcome: "error" as const });
  if (storedEnding !== undefined || keyed === undefined) sink.end(ending);
  return { report: { ...report, ...createReportFields(ending) }, ending: storedEnding };
}

/** Ends a turn whose message OpenTurn has stored for a person. No model is called, and nothing is reserved. */
function endHandoff(
  deps: TurnDeps,
  { workspaceId, sessionId, turnId }: IdentifiedTurn,
  { sink, stopwatch }: TurnContext,
): { report: TurnReport; ending: TurnEnding } {
  const ending = { outcome: "handoff" as const, errorCode: "", model: "", tokensIn: 0, tokensOut: 0, latencyMs: 0 };
  sink.end(ending);
  deps.publishLive({ workspaceId, sessionId, type: "changed" });
  readTimings(stopwatch);
  const report = { turnId, workspaceId, firstTokenMs: 0, isUnpaid: false, ...createReportFields(ending) };
  return { report, ending };
}

function createBlockedResult({ reason, fallback }: BlockedEvent): ReplyResult {
  return createReplyResult({ outcome: "blocked", errorCode: "", blocked: { reason, fallback } });
}

/** Returns the ending that is stored. It differs from `own` if another process closed the turn first. */
function mergeStored(own: TurnEnding, stored: CloseTurnResponse): TurnEnding {
  const { model, tokensIn, tokensOut, latencyMs, errorCode } = stored;
  const outcome = outcomeFromProto(stored.outcome) ?? "error";
  const isSameOutcome = outcome === own.outcome;
  return {
    outcome,
    errorCode,
    ...(isSameOutcome && { blocked: own.blocked, quota: own.quota, sources: own.sources }),
    handoff: stored.handoff,
    model,
    tokensIn,
    tokensOut,
    latencyMs,
  };
}

function createReportFields(ending: TurnEnding): Pick<TurnReport, "errorCode" | "done"> {
  const { errorCode, done } = createTerminalEvents(ending);
  return { errorCode, done };
}

/** Throws RpcError when OpenTurn fails. The turn may have been opened nevertheless. */
export async function openTurn(
  deps: TurnDeps,
  request: IdentifiedTurn,
  stopwatch: Stopwatch,
): Promise<OpenTurnResponse> {
  stopwatch.enter("open");
  const { client: _, ...turn } = request;
  const opened = await deps.conversation.openTurn(turn, { timeoutMs: OPEN_TIMEOUT_MS });
  splitRetrievalTime(stopwatch, opened);
  return opened;
}

/** The codes with which OpenTurn refuses to open a turn. `conversation.proto` documents them. */
const OPEN_REFUSALS: ReadonlySet<string> = new Set([
  "invalid_argument",
  "bot_not_found",
  "session_not_found",
  "visitor_mismatch",
  "idempotency_key_reused",
  "too_many_keyed_turns",
  "moderation_overloaded",
  "overloaded",
]);

/**
 * Whether the failure of OpenTurn proves that the turn is not open: the conversation service itself refused the only attempt. A status alone
 * proves nothing, because gRPC and proxies use the same ones, also after the handler has opened the turn.
 */
function isOpenRefusal(error: unknown): boolean {
  return error instanceof RpcError && error.isFromParley && !error.isRetry && OPEN_REFUSALS.has(error.code);
}

/** Closes the turn later, unless the failure of OpenTurn proves that it is not open. */
export function handleOpenFailure(deps: TurnDeps, turn: IdentifiedTurn, error: unknown, stopwatch: Stopwatch): void {
  const { workspaceId, turnId } = turn;
  if (!isOpenRefusal(error)) deps.turnCloser.closeIfOpened({ workspaceId, turnId, ...readTimings(stopwatch) });
}

/** Reserves a message of the quota and streams the reply. Never throws: returns failures as a result. */
async function reserveAndGenerate(
  deps: TurnDeps,
  input: Omit<GenerationInput, "month" | "day">,
  client: Uint8Array,
  context: TurnContext,
): Promise<ReplyResult> {
  const { workspaceId, turnId } = input;
  context.stopwatch.enter("reserve");
  let held: { month: string; day: string };
  try {
    const hold = await deps.quota.reserve({ workspaceId, turnId, client }, { timeoutMs: RESERVE_TIMEOUT_MS });
    context.releaseStart();
    failpoint("edge.reserved");
    if (hold.status === ReserveStatus.EXCEEDED) {
      const { plan, used, cap } = hold;
      return createReplyResult({ outcome: "quota_exceeded", errorCode: "", quota: { plan, used, cap } });
    }
    if (hold.status === ReserveStatus.BUSY) return createReplyResult({ errorCode: "busy" });
    if (hold.status !== ReserveStatus.HELD) return createReplyResult({});
    // The client was below its limits when the request arrived; replies that ran then may have become unpaid since.
    if (deps.unpaidReplies.isRefused(client)) return createReplyResult({ errorCode: "busy" });
    held = { month: hold.month, day: hold.day };
  } catch (cause) {
    context.releaseStart();
    return markIfCancelled(createReplyResult({ cause }), context);
  }
  return markIfCancelled(await generateReply(deps.llm, { ...input, ...held }, context), context);
}

/** If the visitor has left or stopped the reply, changes its outcome to `cancelled`, unless it is complete or blocked. */
function markIfCancelled(result: ReplyResult, { cancelSignal }: TurnContext): ReplyResult {
  if (!cancelSignal.aborted || result.outcome === "done" || result.outcome === "blocked") return result;
  return { ...result, outcome: "cancelled", errorCode: "" };
}
