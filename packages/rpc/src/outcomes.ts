import { TurnOutcome } from "./conversation.ts";
import { GenerateStatus } from "./llm.ts";
import { ReservationState, ReserveStatus, SettleOutcome } from "./quota.ts";

// Every translation between an outcome's names in SQL, protobuf, SSE and metrics is in this file.

/** How a turn ended, as the columns `status` of conversation.turns and conversation.messages store it. */
export type Outcome = "done" | "error" | "blocked" | "quota_exceeded" | "cancelled" | "interrupted" | "handoff";

/** A turn's status: its outcome, or `streaming` until it has one. */
export type TurnStatus = Outcome | "streaming";

/** The `finish_reason` of a stream. The contract lists all of these but `cancelled` and `handoff`. */
export type FinishReason = "stop" | "error" | "blocked" | "quota_exceeded" | "cancelled" | "handoff";

/** Whether a turn counts against the quota, as quota.reservations and conversation.outbox store it. */
export type SettleOutcomeName = "done" | "void";

/** The codes of the stream's `error` event after a failure. `busy`: the quota service refused the turn below the cap (ReserveStatus.BUSY). */
export const FAILURE_CODES = [
  "internal_error",
  "busy",
  "provider_auth",
  "provider_rate_limited",
  "provider_timeout",
  "provider_error",
] as const;

export type FailureCode = (typeof FAILURE_CODES)[number];

/** The code of the stream's `error` event, and the label `code` of parley_turns_total; empty if the stream has no such event. */
export type ErrorCode = FailureCode | "quota_exceeded" | "";

type OutcomeTranslations = {
  proto: TurnOutcome;
  settleOutcome: SettleOutcomeName;
  /** The `finish_reason` of the stream's `done` event, and the label `finish` of parley_turns_total. */
  finishReason: FinishReason;
  /** The possible codes. The first is used if the stored code is empty or unknown. */
  errorCodes: readonly [ErrorCode, ...ErrorCode[]];
};

const NO_ERROR = [""] as const;

export const OUTCOMES: Readonly<Record<Outcome, OutcomeTranslations>> = {
  done: { proto: TurnOutcome.DONE, settleOutcome: "done", finishReason: "stop", errorCodes: NO_ERROR },
  error: { proto: TurnOutcome.ERROR, settleOutcome: "void", finishReason: "error", errorCodes: FAILURE_CODES },
  blocked: { proto: TurnOutcome.BLOCKED, settleOutcome: "void", finishReason: "blocked", errorCodes: NO_ERROR },
  quota_exceeded: {
    proto: TurnOutcome.QUOTA_EXCEEDED,
    settleOutcome: "void",
    finishReason: "quota_exceeded",
    errorCodes: ["quota_exceeded"],
  },
  cancelled: { proto: TurnOutcome.CANCELLED, settleOutcome: "void", finishReason: "cancelled", errorCodes: NO_ERROR },
  interrupted: {
    proto: TurnOutcome.INTERRUPTED,
    settleOutcome: "void",
    finishReason: "error",
    errorCodes: FAILURE_CODES,
  },
  handoff: { proto: TurnOutcome.HANDOFF, settleOutcome: "void", finishReason: "handoff", errorCodes: NO_ERROR },
};

export const OUTCOME_NAMES = Object.keys(OUTCOMES) as Outcome[];

const OUTCOME_BY_PROTO = new Map(OUTCOME_NAMES.map((name) => [OUTCOMES[name].proto, name]));

/** Returns undefined for an unspecified or unknown outcome. */
export function outcomeFromProto(outcome: TurnOutcome): Outcome | undefined {
  return OUTCOME_BY_PROTO.get(outcome);
}

/** Returns the code of the `error` event of a turn with this outcome and stored code; empty if its stream has no such event. */
export function toErrorCode(outcome: Outcome, storedCode: string): ErrorCode {
  const { errorCodes } = OUTCOMES[outcome];
  return errorCodes.find((code) => code === storedCode) ?? errorCodes[0];
}

export const SETTLE_OUTCOMES: Readonly<Record<SettleOutcomeName, SettleOutcome>> = {
  done: SettleOutcome.DONE,
  void: SettleOutcome.VOID,
};

const SETTLE_OUTCOME_BY_PROTO = invert(SETTLE_OUTCOMES);

/** Throws for an unspecified or unknown outcome: the protos' rules refuse a request with one. */
export function settleOutcomeFromProto(outcome: SettleOutcome): SettleOutcomeName {
  return requireKnown(SETTLE_OUTCOME_BY_PROTO.get(outcome));
}

/** Returns an SQL expression for the settle outcome of a closed turn. `status` is the SQL name of the turn's status. */
export function toSettleOutcomeSql(status: string): string {
  const counted = OUTCOME_NAMES.filter((name) => OUTCOMES[name].settleOutcome === "done");
  return `CASE WHEN ${status} IN (${counted.map((name) => `'${name}'`).join()}) THEN 'done' ELSE 'void' END`;
}

/** The state of a turn in the usage accounting, as quota.reservations stores it. */
export type ReservationStateName = "held" | SettleOutcomeName;

export const RESERVATION_STATES: Readonly<Record<ReservationStateName, ReservationState>> = {
  held: ReservationState.HELD,
  done: ReservationState.DONE,
  void: ReservationState.VOID,
};

const RESERVATION_STATE_BY_PROTO = invert(RESERVATION_STATES);

/** Throws for an unspecified or unknown state, as settleOutcomeFromProto does. */
export function reservationStateFromProto(state: ReservationState): ReservationStateName {
  return requireKnown(RESERVATION_STATE_BY_PROTO.get(state));
}

function requireKnown<T>(name: T | undefined): T {
  if (name === undefined) throw new Error("the enum has no such value");
  return name;
}

/** The result of Reserve, as in the label `status` of parley_quota_reservations_total. */
export type ReserveStatusName = "held" | "exceeded" | "settled" | "unpaid_limit" | "client_limit";

export const RESERVE_STATUSES: Readonly<Record<ReserveStatusName, ReserveStatus>> = {
  held: ReserveStatus.HELD,
  exceeded: ReserveStatus.EXCEEDED,
  settled: ReserveStatus.SETTLED,
  unpaid_limit: ReserveStatus.BUSY,
  client_limit: ReserveStatus.BUSY,
};

/**
 * More about a complete reply, whose finish reason is `stop`.
 * - length: its text was cut at a limit of tokens.
 * - declined: the model said that it has no answer.
 */
export type FinishDetail = "" | "length" | "declined";

/** Returns an empty detail for an unknown one of a newer service. */
export function toFinishDetail(detail: string): FinishDetail {
  return detail === "length" || detail === "declined" ? detail : "";
}

export type GenerationFailureCode = Exclude<FailureCode, "internal_error" | "busy"> | "model_unknown";

/** How a generation ended, as in llm.calls and in the label `outcome` of parley_llm_generations_total. */
export type GenerationOutcome = "complete" | "blocked" | "cancelled" | GenerationFailureCode;

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

type OutcomeWithCode = { outcome: Outcome; errorCode: FailureCode | "" };

const INTERNAL_ERROR: OutcomeWithCode = { outcome: "error", errorCode: "internal_error" };

const OUTCOME_BY_STATUS: Readonly<Record<GenerateStatus, OutcomeWithCode>> = {
  [GenerateStatus.UNSPECIFIED]: INTERNAL_ERROR,
  [GenerateStatus.COMPLETE]: { outcome: "done", errorCode: "" },
  [GenerateStatus.BLOCKED]: { outcome: "blocked", errorCode: "" },
  [GenerateStatus.PROVIDER_AUTH]: { outcome: "error", errorCode: "provider_auth" },
  [GenerateStatus.PROVIDER_RATE_LIMITED]: { outcome: "error", errorCode: "provider_rate_limited" },
  [GenerateStatus.PROVIDER_TIMEOUT]: { outcome: "error", errorCode: "provider_timeout" },
  [GenerateStatus.PROVIDER_ERROR]: { outcome: "error", errorCode: "provider_error" },
  // The stream's `error` event has no code for an unknown model.
  [GenerateStatus.MODEL_UNKNOWN]: INTERNAL_ERROR,
};

/** Returns how a turn ends after its generation. An unknown status of a newer llm-proxy becomes an internal error. */
export function turnOutcomeAfterGeneration(status: GenerateStatus): OutcomeWithCode {
  return OUTCOME_BY_STATUS[status] ?? INTERNAL_ERROR;
}

function invert<Name extends string, Value>(table: Readonly<Record<Name, Value>>): ReadonlyMap<Value, Name> {
  return new Map((Object.keys(table) as Name[]).map((name) => [table[name], name]));
}
