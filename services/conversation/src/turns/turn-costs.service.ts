import type { RpcClient } from "@parley/rpc";
import type { LlmService, TurnCost } from "@parley/rpc/llm";
import type { QuotaService } from "@parley/rpc/quota";
import type { AdminCaller, Logger } from "@parley/service-kit";

/** A transcript does not wait longer for its costs. */
const TIMEOUT_MS = 1_000;

export type TurnCostDeps = {
  llm: Pick<RpcClient<typeof LlmService>, "listTurnCosts">;
  quota: Pick<RpcClient<typeof QuotaService>, "getWorkspace">;
  /** The plans whose members see the costs of replies. */
  costPlans: readonly string[];
  log: Logger;
};

/** Returns the costs by turn for a caller that may see them, otherwise nothing. If a service does not answer, the transcript has no costs. */
export type ReadTurnCosts = (
  workspaceId: string,
  caller: AdminCaller,
  turnIds: readonly string[],
) => Promise<ReadonlyMap<string, TurnCost>>;

export function createTurnCostReader({ llm, quota, costPlans, log }: TurnCostDeps): ReadTurnCosts {
  const maySeeCosts = async (workspaceId: string, caller: AdminCaller) => {
    if (caller === "operator") return true;
    // Most installations have no such plan. Their transcripts then do not depend on quota.
    if (costPlans.length === 0) return false;
    const { workspace } = await quota.getWorkspace({ workspaceId }, { timeoutMs: TIMEOUT_MS });
    return costPlans.includes(workspace?.plan ?? "");
  };
  return async (workspaceId, caller, turnIds) => {
    try {
      if (turnIds.length === 0 || !(await maySeeCosts(workspaceId, caller))) return new Map();
      const { costs } = await llm.listTurnCosts({ workspaceId, turnIds: [...turnIds] }, { timeoutMs: TIMEOUT_MS });
      return new Map(costs.map((cost) => [cost.turnId, cost]));
    } catch (error) {
      log.warn({ error, workspace_id: workspaceId }, "costs of turns not read");
      return new Map();
    }
  };
}
