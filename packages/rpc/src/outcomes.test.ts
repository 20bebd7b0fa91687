import { expect, test } from "vitest";
import { TurnOutcome } from "./conversation.ts";
import { GenerateStatus } from "./llm.ts";
import {
  GENERATION_STATUSES,
  OUTCOME_NAMES,
  OUTCOMES,
  outcomeFromProto,
  SETTLEMENTS,
  settlementFromProto,
  turnAfterGeneration,
} from "./outcomes.ts";
import { SettleOutcome } from "./quota.ts";

test("converts each outcome to protobuf and back", () => {
  for (const name of OUTCOME_NAMES) expect(outcomeFromProto(OUTCOMES[name].proto)).toBe(name);
  for (const name of ["done", "void"] as const) expect(settlementFromProto(SETTLEMENTS[name])).toBe(name);
});

test("returns undefined for an unset or unknown outcome", () => {
  expect(outcomeFromProto(TurnOutcome.UNSPECIFIED)).toBeUndefined();
  expect(outcomeFromProto(99 as TurnOutcome)).toBeUndefined();
  expect(settlementFromProto(SettleOutcome.UNSPECIFIED)).toBeUndefined();
});

test("only done counts against the quota and has the finish reason stop", () => {
  const counted = OUTCOME_NAMES.filter((name) => OUTCOMES[name].settlement === "done");
  const stopped = OUTCOME_NAMES.filter((name) => OUTCOMES[name].finishReason === "stop");
  expect([counted, stopped]).toEqual([["done"], ["done"]]);
});

test("a generation's failure keeps its code, except those that a visitor cannot act on", () => {
  for (const code of ["provider_auth", "provider_rate_limited", "provider_timeout", "provider_error"] as const)
    expect(turnAfterGeneration(GENERATION_STATUSES[code])).toEqual({ outcome: "error", errorCode: code });
  for (const status of [GenerateStatus.MODEL_UNKNOWN, GenerateStatus.UNSPECIFIED, 99 as GenerateStatus])
    expect(turnAfterGeneration(status)).toEqual({ outcome: "error", errorCode: "internal_error" });
});
