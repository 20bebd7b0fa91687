import { expect, test } from "vitest";
import { TurnOutcome } from "./conversation.ts";
import { GenerateStatus } from "./llm.ts";
import {
  GENERATION_STATUSES,
  OUTCOME_NAMES,
  OUTCOMES,
  outcomeFromProto,
  RESERVATION_STATES,
  reservationStateFromProto,
  SETTLE_OUTCOMES,
  settleOutcomeFromProto,
  toErrorCode,
  toSettleOutcomeSql,
  turnOutcomeAfterGeneration,
} from "./outcomes.ts";
import { ReservationState, SettleOutcome } from "./quota.ts";

test("converts each outcome, settle outcome and reservation state to protobuf and back", () => {
  for (const name of OUTCOME_NAMES) expect(outcomeFromProto(OUTCOMES[name].proto)).toBe(name);
  for (const name of ["done", "void"] as const) expect(settleOutcomeFromProto(SETTLE_OUTCOMES[name])).toBe(name);
  for (const name of ["held", "done", "void"] as const)
    expect(reservationStateFromProto(RESERVATION_STATES[name])).toBe(name);
});

test("knows neither an unspecified outcome, reservation state or settle outcome, nor an unknown outcome", () => {
  expect(outcomeFromProto(TurnOutcome.UNSPECIFIED)).toBeUndefined();
  expect(outcomeFromProto(99 as TurnOutcome)).toBeUndefined();
  expect(() => settleOutcomeFromProto(SettleOutcome.UNSPECIFIED)).toThrow("no such value");
  expect(() => reservationStateFromProto(ReservationState.UNSPECIFIED)).toThrow("no such value");
});

test("only the outcome done counts against the quota, and only it has the finish reason stop", () => {
  const counted = OUTCOME_NAMES.filter((name) => OUTCOMES[name].settleOutcome === "done");
  const stopped = OUTCOME_NAMES.filter((name) => OUTCOMES[name].finishReason === "stop");
  expect([counted, stopped]).toEqual([["done"], ["done"]]);
  expect(toSettleOutcomeSql("t.status")).toBe("CASE WHEN t.status IN ('done') THEN 'done' ELSE 'void' END");
});

test("a turn without a known code has the default code of its outcome, and outcomes without an error event have no code", () => {
  expect(toErrorCode("error", "provider_auth")).toBe("provider_auth");
  expect(toErrorCode("error", "code_of_a_newer_version")).toBe("internal_error");
  expect(toErrorCode("interrupted", "")).toBe("internal_error");
  expect(toErrorCode("quota_exceeded", "")).toBe("quota_exceeded");
  for (const outcome of ["done", "blocked", "cancelled"] as const) expect(toErrorCode(outcome, "any")).toBe("");
});

test("a provider's failure keeps its code, and any other failure of a generation becomes internal_error", () => {
  for (const code of ["provider_auth", "provider_rate_limited", "provider_timeout", "provider_error"] as const)
    expect(turnOutcomeAfterGeneration(GENERATION_STATUSES[code])).toEqual({ outcome: "error", errorCode: code });
  for (const status of [GenerateStatus.MODEL_UNKNOWN, GenerateStatus.UNSPECIFIED, 99 as GenerateStatus])
    expect(turnOutcomeAfterGeneration(status)).toEqual({ outcome: "error", errorCode: "internal_error" });
});
