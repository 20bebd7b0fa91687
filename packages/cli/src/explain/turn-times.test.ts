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

test("computes the close time as opened to closed (database) minus the phases after opening (edge)", () => {
  const times = computeTurnTimes(done, undefined);
  expect(times).toMatchObject({ wallMs: 100, closeMs: 5, settleMs: undefined });
  expect(times.phases.map(({ ms }) => ms)).toEqual([1, 9, 10, 80]);
});

test("computes the settle time from settled_at, or from the usage ledger entry without it", () => {
  const at = "2026-11-21T10:00:00.112Z";
  expect(computeTurnTimes(done, create(TurnEntrySchema, { state: "void", settledAt: at })).settleMs).toBe(12);
  expect(computeTurnTimes(done, create(TurnEntrySchema, { state: "done", countedAt: at })).settleMs).toBe(12);
  expect(computeTurnTimes(done, create(TurnEntrySchema, { state: "held" })).settleMs).toBeUndefined();
});

test("returns the time from opening to closing as one phase when the edge reported no phases", () => {
  const turn = create(TurnRecordSchema, { status: "interrupted", openMicroseconds: 7_250_000n });
  expect(computeTurnTimes(turn, undefined)).toEqual({
    wallMs: 7_250,
    phases: [{ name: "unrecorded", ms: 7_250 }],
    closeMs: undefined,
    settleMs: undefined,
  });
});
