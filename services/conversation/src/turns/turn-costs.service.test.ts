import { createLogger } from "@parley/service-kit";
import { expect, test, vi } from "vitest";
import { createTurnCostReader, type TurnCostDeps } from "./turn-costs.service.ts";

const MEMBER = { workspaceId: "ws", subject: "s", role: "owner" } as unknown as Parameters<
  ReturnType<typeof createTurnCostReader>
>[1];

function createReader({ plan = "pro", costPlans = ["scale"], fails = false } = {}) {
  const llm = {
    listTurnCosts: vi.fn(async () => {
      if (fails) throw new Error("away");
      return { costs: [{ turnId: "t1", cost: "0.5", tokensCached: 3 }] };
    }),
  };
  const quota = { getWorkspace: vi.fn(async () => ({ workspace: { plan } })) };
  const deps = { llm, quota, costPlans, log: createLogger("test", "silent") } as unknown as TurnCostDeps;
  const read = createTurnCostReader(deps);
  const costsOf = async (caller: typeof MEMBER) =>
    [...(await read("ws", caller, ["t1"])).values()].map(({ cost }) => cost);
  return { costsOf, llm, quota };
}

test("operators see the costs of every workspace", async () => {
  expect(await createReader().costsOf("operator")).toEqual(["0.5"]);
});

test("members see costs only if the operator lists their plan", async () => {
  expect(await createReader({ plan: "scale" }).costsOf(MEMBER)).toEqual(["0.5"]);
  const other = createReader({ plan: "pro" });
  expect(await other.costsOf(MEMBER)).toEqual([]);
  expect(other.llm.listTurnCosts).not.toHaveBeenCalled();
});

test("without such plans, members' transcripts ask neither quota nor the llm-proxy", async () => {
  const reader = createReader({ plan: "scale", costPlans: [] });
  expect(await reader.costsOf(MEMBER)).toEqual([]);
  expect([reader.quota.getWorkspace.mock.calls, reader.llm.listTurnCosts.mock.calls]).toEqual([[], []]);
});

test("a transcript has no costs if the llm-proxy does not answer", async () => {
  expect(await createReader({ fails: true }).costsOf("operator")).toEqual([]);
});
