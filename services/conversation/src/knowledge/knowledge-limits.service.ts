import type { RpcClient } from "@parley/rpc";
import type { QuotaService } from "@parley/rpc/quota";
import type { KnowledgeLimits } from "./knowledge-limits.ts";

const GET_WORKSPACE_TIMEOUT_MS = 5_000;

/** Returns the limits of a workspace's plan. */
export type ReadKnowledgeLimits = (workspaceId: string) => Promise<KnowledgeLimits>;

export function createLimitsReader(quota: Pick<RpcClient<typeof QuotaService>, "getWorkspace">): ReadKnowledgeLimits {
  return async (workspaceId) => {
    const { workspace } = await quota.getWorkspace({ workspaceId }, { timeoutMs: GET_WORKSPACE_TIMEOUT_MS });
    return {
      maxDocuments: workspace?.maxKnowledgeDocuments ?? 0,
      maxCharacters: workspace?.maxKnowledgeCharacters ?? 0,
    };
  };
}
