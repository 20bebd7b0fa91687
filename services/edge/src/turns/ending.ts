import type { Handoff, MessageSource, StoredTurn, TurnEnd } from "@parley/rpc/conversation";
import { type ErrorCode, OUTCOMES, type Outcome, outcomeFromProto, toErrorCode } from "@parley/rpc/outcomes";
import type {
  BlockedEvent,
  DoneEvent,
  FailureEvent,
  MetaEvent,
  QuotaExceededEvent,
  ShownSource,
  SourcesEvent,
} from "./events.ts";
import { createFailureEvent, quotaExceededMessage } from "./failures.ts";
import { type HandoffBody, toHandoffBody } from "./handoff-state.ts";

/** The usage of a workspace at its cap. */
export type QuotaUsage = { plan: string; used: number; cap: number };

/** The end of a turn as the database stores it. */
export type TurnEnding = Readonly<{
  outcome: Outcome;
  /** Empty unless the outcome is `error`. */
  errorCode: string;
  blocked?: BlockedEvent | undefined;
  quota?: QuotaUsage | undefined;
  /** The sources of a reply that is complete or cancelled. Others show none. */
  sources?: readonly ShownSource[] | undefined;
  /** Set if the turn has asked for a person, or a person has taken the session over. Not stored with the turn. */
  handoff?: Handoff | undefined;
  model: string;
  tokensIn: number;
  tokensOut: number;
  latencyMs: number;
}>;

/**
 * Receives a turn's reply: `meta` first, then the text, then its end.
 * `token` returns a promise when the visitor reads slowly. Await it before reading more from the model (backpressure).
 */
export type TurnSink = {
  meta(meta: MetaEvent): void;
  token(text: string): Promise<void> | undefined;
  end(ending: TurnEnding): void;
};

/** The end and the text of a stored reply. */
export type StoredReply = { ending: TurnEnding; text: string };

export type TerminalEvents = {
  blocked?: BlockedEvent;
  error?: FailureEvent | QuotaExceededEvent;
  sources?: SourcesEvent;
  handoff?: HandoffBody;
  done: DoneEvent;
  errorCode: ErrorCode;
};

/** Returns the events that end a stream, in the contract's order, and the turn's error code. */
export function createTerminalEvents(ending: TurnEnding): TerminalEvents {
  const { outcome, blocked, quota, sources = [], tokensIn, tokensOut, latencyMs, model } = ending;
  const done = {
    finish_reason: OUTCOMES[outcome].finishReason,
    tokens_in: tokensIn,
    tokens_out: tokensOut,
    latency_ms: latencyMs,
    model,
  };
  const errorCode = toErrorCode(outcome, ending.errorCode);
  const error = createErrorEvent(errorCode, quota);
  return {
    ...(outcome === "blocked" && blocked && { blocked }),
    ...(error && { error }),
    ...(sources.length > 0 &&
      (outcome === "done" || outcome === "cancelled") && { sources: { sources: [...sources] } }),
    ...(ending.handoff && { handoff: toHandoffBody(ending.handoff) }),
    done,
    errorCode,
  };
}

/** Returns undefined if the stream has no `error` event, or if the usage at the cap was not stored. */
function createErrorEvent(code: ErrorCode, quota: QuotaUsage | undefined): TerminalEvents["error"] {
  if (code === "") return undefined;
  if (code !== "quota_exceeded") return createFailureEvent(code);
  return quota && { code, ...quota, message: quotaExceededMessage() };
}

/** Returns undefined if the turn is running, or if this release does not know its outcome. */
export function readStoredReply({ end }: StoredTurn): StoredReply | undefined {
  const ending = readEnding(end);
  return end && ending && { ending, text: end.content };
}

/** Returns undefined if there is no end, or if this release does not know its outcome. */
export function readEnding(end: TurnEnd | undefined): TurnEnding | undefined {
  const outcome = end && outcomeFromProto(end.outcome);
  if (outcome === undefined) return undefined;
  const { errorCode, blocked, quota, sources, handoff, model, tokensIn, tokensOut, latencyMs } = end as TurnEnd;
  return {
    outcome,
    errorCode,
    blocked: blocked && { reason: blocked.reason, fallback: blocked.fallback },
    quota: quota && { plan: quota.plan, used: quota.used, cap: quota.cap },
    sources: sources.map(toShownSource),
    handoff,
    model,
    tokensIn,
    tokensOut,
    latencyMs,
  };
}

export function toShownSource({ number, title, url }: Pick<MessageSource, "number" | "title" | "url">): ShownSource {
  return { number, title, ...(url !== "" && { url }) };
}
