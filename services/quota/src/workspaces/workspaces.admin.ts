import type { ServiceImpl } from "@connectrpc/connect";
import type { WorkspaceAdminService } from "@parley/rpc/quota";
import {
  invalidArgument,
  listFromShards,
  onEachShard,
  readFromAnyShard,
  ServiceError,
  type ShardedDatabase,
} from "@parley/service-kit";
import { createCreditAdmin } from "../credits/index.ts";
import { handleListMonths } from "../months/index.ts";
import { resetUnpaid } from "../unpaid/index.ts";
import { createAdjustmentAdmin, createUsageAdmin, readMonthlyUsage } from "../usage/index.ts";
import { requireWorkspace, toWorkspaceMessage } from "./get-workspace.rpc.ts";
import { listPlans, updateKnowledgeLimits, updateOverage } from "./plans.store.ts";
import { insertWorkspace, listWorkspaces, updatePlan, updateRetention, updateThresholds } from "./workspaces.store.ts";

/** Implements WorkspaceAdminService. `newId` generates the id of a workspace if the request has none. */
export function createWorkspaceAdmin(
  sharded: ShardedDatabase,
  newId: () => string,
): ServiceImpl<typeof WorkspaceAdminService> {
  const { database, shards } = sharded;
  const requirePlan = async (plan: string) => {
    const plans = await readFromAnyShard(shards, listPlans);
    if (!plans.some(({ name }) => name === plan))
      throw invalidArgument(`plan must be one of ${plans.map(({ name }) => name).join(", ")}`);
  };
  return {
    ...createUsageAdmin(sharded),
    ...createAdjustmentAdmin(sharded),
    ...createCreditAdmin(database),
    listUsageMonths: () => handleListMonths(shards),
    async createWorkspace(request) {
      const id = request.id || newId();
      await requirePlan(request.plan);
      if (!(await insertWorkspace(database, id, request.name.trim(), request.plan))) {
        throw new ServiceError("already_exists", "workspace_exists", "a workspace with this id already exists");
      }
      return { workspace: await requireWorkspace(database, id) };
    },
    async listWorkspaces() {
      const workspaces = await listFromShards(shards, listWorkspaces, {
        keysOf: ({ createdAt, id }) => [createdAt.getTime(), id],
      });
      return { workspaces: workspaces.map(toWorkspaceMessage) };
    },
    async setPlan(request) {
      await requirePlan(request.plan);
      await requireWorkspace(database, request.workspaceId);
      await updatePlan(database, request.workspaceId, request.plan);
      return { workspace: await requireWorkspace(database, request.workspaceId) };
    },
    async listPlans() {
      return { plans: await readFromAnyShard(shards, listPlans) };
    },
    async setKnowledgeLimits({ plan, knowledgeDocuments: documents, knowledgeCharacters: characters }) {
      await requirePlan(plan);
      const limits = { documents, characters };
      // Every shard has the plans. If one of them is away, the call fails and may be repeated.
      const [changed] = await onEachShard(shards, (shard) => updateKnowledgeLimits(shard, plan, limits));
      return { plan: changed };
    },
    async setOverage({ plan, overage }) {
      await requirePlan(plan);
      const [changed] = await onEachShard(shards, (shard) => updateOverage(shard, plan, overage));
      return { plan: changed };
    },
    async setRetention({ workspaceId, retentionMinutes }) {
      await requireWorkspace(database, workspaceId);
      await updateRetention(database, workspaceId, retentionMinutes);
      return { workspace: await requireWorkspace(database, workspaceId) };
    },
    async setUsageThresholds({ workspaceId, ...request }) {
      const thresholds = [...new Set(request.thresholds)].sort((a, b) => a - b);
      if (thresholds.length < request.thresholds.length) throw invalidArgument("thresholds must differ");
      if (thresholds.some((each) => each < 1 || each > 100)) throw invalidArgument("each threshold must be 1 to 100");
      await requireWorkspace(database, workspaceId);
      await updateThresholds(database, workspaceId, thresholds);
      return { thresholds };
    },
    async resetUnpaid({ workspaceId }) {
      await requireWorkspace(database, workspaceId);
      await resetUnpaid(database, workspaceId);
      const { usage } = await readMonthlyUsage(database, { workspaceId, month: "" });
      return { usage };
    },
  };
}
