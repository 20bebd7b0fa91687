import { create } from "@bufbuild/protobuf";
import { TurnRecordSchema } from "@parley/rpc/conversation";
import { TurnEntrySchema } from "@parley/rpc/quota";
import { expect, test } from "vitest";
import { computeTurnTimes } from "./turn-times.ts";

const phases = [
  { name: "limits", microseconds: 1_000n },
  { name: "open", microseconds: 9_000n },
  { name: "reserve", microseconds: 10_000n },
  { name: "tokens", microseconds: 80_000n },
];
const done = create(TurnRecordSchema, {
  status: "done",
  latencyMs: 100,
  phases,
  openMicroseconds: 95_000n,
  closedAt: "2026-11-21T10:00:00.100Z",
});

test("closeMs is openMicroseconds minus the phases that follow the phase open", () => {
  const times = computeTurnTimes(done, undefined);
  expect(times).toMatchObject({ wallMs: 100, closeMs: 5, settleMs: undefined });
  expect(times.phases.map(({ ms }) => ms)).toEqual([1, 9, 10, 80]);
});

test("the settle time ends at settled_at, and is undefined if it is empty", () => {
  const at = "2026-11-21T10:00:00.112Z";
  expect(computeTurnTimes(done, create(TurnEntrySchema, { state: "void", settledAt: at })).settleMs).toBe(12);
  expect(computeTurnTimes(done, create(TurnEntrySchema, { state: "held" })).settleMs).toBeUndefined();
});

test("without phases from the edge, the time from opening to closing is one phase", () => {
  const turn = create(TurnRecordSchema, { status: "interrupted", openMicroseconds: 7_250_000n });
  expect(computeTurnTimes(turn, undefined)).toEqual({
    wallMs: 7_250,
    phases: [{ name: "unrecorded", ms: 7_250 }],
    closeMs: undefined,
    settleMs: undefined,
  });
});
