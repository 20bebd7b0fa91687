import { create } from "@bufbuild/protobuf";
import { TurnRecordSchema } from "@parley/rpc/conversation";
import { TurnEntrySchema } from "@parley/rpc/quota";
import { expect, test } from "vitest";
import { formatExplanation } from "./format.ts";

const AT = "2026-11-21T10:04:32.039Z";

test.each([
  ["held", "", "not counted"],
  ["done", AT, `counted ${AT}`],
  ["done", "", "no row, counted by an adjustment"],
  ["void", "", "not counted"],
  ["void", AT, `counted ${AT}, subtracted by an adjustment`],
])(
  "a turn with quota state %s and countedAt '%s' (empty: no usage ledger row) is shown as: %s",
  (state, countedAt, expected) => {
    const turn = create(TurnRecordSchema, { status: "done" });
    const entry = create(TurnEntrySchema, { state, countedAt, month: "2026-11", settledAt: AT });
    const explanation = { workspaceId: "w", turn, calls: [], entry, missing: [] };
    const times = { wallMs: 0, phases: [], closeMs: undefined, settleMs: undefined };
    const lines = formatExplanation(explanation, times, 80).split("\n");
    expect(lines.find((line) => line.includes("usage ledger"))?.trim()).toBe(`usage ledger  ${expected}`);
  },
);
