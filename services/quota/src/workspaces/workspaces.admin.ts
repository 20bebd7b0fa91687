import type { ServiceImpl } from "@connectrpc/connect";
import type { WorkspaceAdminService } from "@parley/rpc/quota";
import { type Database, invalidArgument, ServiceError } from "@parley/service-kit";
import { handleListMonths } from "../months/index.ts";
import { resetUnpaid } from "../unpaid/index.ts";
import { createAdjustmentAdmin, createUsageAdmin, readMonthlyUsage } from "../usage/index.ts";
import { requireWorkspace, toWorkspaceMessage } from "./get-workspace.rpc.ts";
import { listPlans, updateKnowledgeLimits } from "./plans.store.ts";
import { insertWorkspace, listWorkspaces, updatePlan, updateRetention } from "./workspaces.store.ts";

/** Implements WorkspaceAdminService. `newId` generates the id of a workspace if the request has none. */
export function createWorkspaceAdmin(
  database: Database,
  newId: () => string,
): ServiceImpl<typeof WorkspaceAdminService> {
  const requirePlan = async (plan: string) => {
    const plans = await listPlans(database);
    if (!plans.some(({ name }) => name === plan))
      throw invalidArgument(`plan must be one of ${plans.map(({ name }) => name).join(", ")}`);
  };
  return {
    ...createUsageAdmin(database),
    ...createAdjustmentAdmin(database),
    listUsageMonths: () => handleListMonths(database),
    async createWorkspace(request) {
      const id = request.id || newId();
      await requirePlan(request.plan);
      if (!(await insertWorkspace(database, id, request.name.trim(), request.plan))) {
        throw new ServiceError("already_exists", "workspace_exists", "a workspace with this id already exists");
      }
      return { workspace: await requireWorkspace(database, id) };
    },
    async listWorkspaces() {
      return { workspaces: (await listWorkspaces(database)).map(toWorkspaceMessage) };
    },
    async setPlan(request) {
      await requirePlan(request.plan);
      await requireWorkspace(database, request.workspaceId);
      await updatePlan(database, request.workspaceId, request.plan);
      return { workspace: await requireWorkspace(database, request.workspaceId) };
    },
    async listPlans() {
      return { plans: await listPlans(database) };
    },
    async setKnowledgeLimits({ plan, knowledgeDocuments: documents, knowledgeCharacters: characters }) {
      await requirePlan(plan);
      return { plan: await updateKnowledgeLimits(database, plan, { documents, characters }) };
    },
    async setRetention({ workspaceId, retentionDays }) {
      await requireWorkspace(database, workspaceId);
      await updateRetention(database, workspaceId, retentionDays);
      return { workspace: await requireWorkspace(database, workspaceId) };
    },
    async resetUnpaid({ workspaceId }) {
      await requireWorkspace(database, workspaceId);
      await resetUnpaid(database, workspaceId);
      return { usage: await readMonthlyUsage(database, { workspaceId, month: "" }) };
    },
  };
}
