import { create } from "@bufbuild/protobuf";
import { TurnRecordSchema } from "@parley/rpc/conversation";
import { CallSchema } from "@parley/rpc/llm";
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

test("a failed attempt is shown with the provider's status, code and message", () => {
  const turn = create(TurnRecordSchema, { status: "error" });
  const failed = { model: "a:b", reason: "http_400", next: "failover", latencyMs: 31 };
  const error = { providerStatus: 400, providerCode: "context_length_exceeded", providerMessage: "too many tokens" };
  const call = create(CallSchema, {
    model: "c:d",
    outcome: "complete",
    tries: [{ ...failed, ...error }, { model: "c:d" }],
  });
  const times = { wallMs: 0, phases: [], closeMs: undefined, settleMs: undefined };
  const text = formatExplanation({ workspaceId: "w", turn, calls: [call], entry: undefined, missing: [] }, times, 80);
  expect(text).toContain("PROVIDER'S ERROR");
  expect(text).toMatch(/http_400 +failover +31 +400 context_length_exceeded: too many tokens/);
});
