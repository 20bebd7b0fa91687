import { TurnOutcome } from "./conversation.ts";
import { GenerateStatus } from "./llm.ts";
import { ReservationState, ReserveStatus, SettleOutcome } from "./quota.ts";

// This file has every translation between an outcome's names in SQL, protobuf, SSE, metrics and quota. No other file translates them.

/** How a turn ended, as the columns `status` of conversation.turns and conversation.messages store it. */
export type Outcome = "done" | "error" | "blocked" | "quota_exceeded" | "cancelled" | "interrupted";

/** A turn's status: its outcome, or `streaming` until it has one. */
export type TurnStatus = Outcome | "streaming";

/** The `finish_reason` of a stream. `cancelled` is an addition to the contract's. */
export type FinishReason = "stop" | "error" | "blocked" | "quota_exceeded" | "cancelled";

/** Whether a turn counts against the quota, as quota.reservations and conversation.outbox store it. */
export type Settlement = "done" | "void";

type OutcomeRow = {
  proto: TurnOutcome;
  settlement: Settlement;
  /** The `finish_reason` of the stream's `done` event. */
  finishReason: FinishReason;
  /** The label `finish` of parley_turns_total. */
  metric: FinishReason;
};

export const OUTCOMES: Readonly<Record<Outcome, OutcomeRow>> = {
  done: { proto: TurnOutcome.DONE, settlement: "done", finishReason: "stop", metric: "stop" },
  error: { proto: TurnOutcome.ERROR, settlement: "void", finishReason: "error", metric: "error" },
  blocked: { proto: TurnOutcome.BLOCKED, settlement: "void", finishReason: "blocked", metric: "blocked" },
  quota_exceeded: {
    proto: TurnOutcome.QUOTA_EXCEEDED,
    settlement: "void",
    finishReason: "quota_exceeded",
    metric: "quota_exceeded",
  },
  cancelled: { proto: TurnOutcome.CANCELLED, settlement: "void", finishReason: "cancelled", metric: "cancelled" },
  interrupted: { proto: TurnOutcome.INTERRUPTED, settlement: "void", finishReason: "error", metric: "error" },
};

export const OUTCOME_NAMES = Object.keys(OUTCOMES) as Outcome[];

const OUTCOME_BY_PROTO = new Map(OUTCOME_NAMES.map((name) => [OUTCOMES[name].proto, name]));

/** Returns undefined for an unspecified or unknown outcome. */
export function outcomeFromProto(outcome: TurnOutcome): Outcome | undefined {
  return OUTCOME_BY_PROTO.get(outcome);
}

export const SETTLEMENTS: Readonly<Record<Settlement, SettleOutcome>> = {
  done: SettleOutcome.DONE,
  void: SettleOutcome.VOID,
};

/** Returns undefined for an unspecified or unknown outcome. */
export function settlementFromProto(outcome: SettleOutcome): Settlement | undefined {
  if (outcome === SettleOutcome.DONE) return "done";
  return outcome === SettleOutcome.VOID ? "void" : undefined;
}

/** The state of a turn in the usage accounting, as quota.reservations stores it. */
export type ReservationStateName = "held" | Settlement;

export const RESERVATION_STATES: Readonly<Record<ReservationStateName, ReservationState>> = {
  held: ReservationState.HELD,
  done: ReservationState.DONE,
  void: ReservationState.VOID,
};

/** The result of Reserve, as in the label `status` of parley_quota_reservations_total. */
export type ReservationStatus = "held" | "exceeded" | "settled";

export const RESERVATION_STATUSES: Readonly<Record<ReservationStatus, ReserveStatus>> = {
  held: ReserveStatus.HELD,
  exceeded: ReserveStatus.EXCEEDED,
  settled: ReserveStatus.SETTLED,
};

/** The `code` of a stream's `error` event, except `quota_exceeded`. */
export type FailureCode =
  | "provider_auth"
  | "provider_rate_limited"
  | "provider_timeout"
  | "provider_error"
  | "internal_error";

/** How a generation ended, as in llm.calls and in the label `outcome` of parley_llm_generations_total. */
export type GenerationOutcome =
  | "complete"
  | "blocked"
  | Exclude<FailureCode, "internal_error">
  | "model_unknown"
  | "cancelled";

/** `cancelled` has no status of its own, because the caller of a cancelled generation does not read the status. */
export const GENERATION_STATUSES: Readonly<Record<GenerationOutcome, GenerateStatus>> = {
  complete: GenerateStatus.COMPLETE,
  blocked: GenerateStatus.BLOCKED,
  provider_auth: GenerateStatus.PROVIDER_AUTH,
  provider_rate_limited: GenerateStatus.PROVIDER_RATE_LIMITED,
  provider_timeout: GenerateStatus.PROVIDER_TIMEOUT,
  provider_error: GenerateStatus.PROVIDER_ERROR,
  model_unknown: GenerateStatus.MODEL_UNKNOWN,
  cancelled: GenerateStatus.PROVIDER_ERROR,
};

type TurnResult = { outcome: Outcome; errorCode: FailureCode | "" };

const INTERNAL_ERROR: TurnResult = { outcome: "error", errorCode: "internal_error" };

const TURN_RESULT_BY_STATUS: Readonly<Record<GenerateStatus, TurnResult>> = {
  [GenerateStatus.UNSPECIFIED]: INTERNAL_ERROR,
  [GenerateStatus.COMPLETE]: { outcome: "done", errorCode: "" },
  [GenerateStatus.BLOCKED]: { outcome: "blocked", errorCode: "" },
  [GenerateStatus.PROVIDER_AUTH]: { outcome: "error", errorCode: "provider_auth" },
  [GenerateStatus.PROVIDER_RATE_LIMITED]: { outcome: "error", errorCode: "provider_rate_limited" },
  [GenerateStatus.PROVIDER_TIMEOUT]: { outcome: "error", errorCode: "provider_timeout" },
  [GenerateStatus.PROVIDER_ERROR]: { outcome: "error", errorCode: "provider_error" },
  // A visitor cannot act on a model that is not configured.
  [GenerateStatus.MODEL_UNKNOWN]: INTERNAL_ERROR,
};

/** Returns how a turn ends after its generation. An unknown status of a newer llm-proxy becomes an internal error. */
export function turnAfterGeneration(status: GenerateStatus): TurnResult {
  return TURN_RESULT_BY_STATUS[status] ?? INTERNAL_ERROR;
}
