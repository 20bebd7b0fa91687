import type { ServiceImpl } from "@connectrpc/connect";
import type { UsageAuditAdminService } from "@parley/rpc/conversation";
import { isWorkspaceId } from "@parley/service-kit";
import { type RepairDeps, repair } from "../reconciliation/index.ts";
import { type AuditedQuota, auditUsage } from "./usage-audit.service.ts";

/** Per workspace. */
const MAX_DIFFERENCES = 100;
const DAY_MS = 86_400_000;

export type UsageAuditAdminDeps = RepairDeps & {
  quota: AuditedQuota;
  /** The default of a repair's `since`, in days before now. */
  days: number;
  /** A repair skips younger turns and holds, because they are probably being settled. */
  minAgeSeconds: number;
};

export function createUsageAuditAdmin(deps: UsageAuditAdminDeps): ServiceImpl<typeof UsageAuditAdminService> {
  const { database, quota, days, minAgeSeconds } = deps;
  return {
    async repair({ workspaceId, since, token }) {
      const start = since || new Date(Date.now() - days * DAY_MS).toISOString();
      return repair(deps, { workspaceId, since: start, token }, minAgeSeconds);
    },
    async auditUsage(request, { signal }) {
      const { workspaceId } = request;
      // No workspace can have this id, so there is nothing to compare.
      if (workspaceId !== "" && !isWorkspaceId(workspaceId))
        return { balanced: true, month: request.month, workspaces: [] };
      const { month, workspaces } = await auditUsage(database, quota, { workspaceId, month: request.month }, signal);
      return {
        month,
        balanced: workspaces.every(({ differences }) => differences.length === 0),
        workspaces: workspaces.map((each) => ({ ...each, differences: each.differences.slice(0, MAX_DIFFERENCES) })),
      };
    },
  };
}
