import type { ServiceImpl } from "@connectrpc/connect";
import type { AuditAdminService } from "@parley/rpc/conversation";
import { type Database, isWorkspaceId, parseMonth } from "@parley/service-kit";
import { type AuditedQuota, audit } from "./audit.service.ts";

const MAX_DIFFERENCES = 100;

/** Implements the admin service that reconciles turns with the quota service's usage. */
export function auditAdmin(database: Database, quota: AuditedQuota): ServiceImpl<typeof AuditAdminService> {
  return {
    async audit(request) {
      const { workspaceId } = request;
      parseMonth(request.month);
      // No workspace can have this id, so there are no turns and no usage to compare.
      if (workspaceId !== "" && !isWorkspaceId(workspaceId))
        return { balanced: true, month: request.month, workspaces: [] };
      const { month, workspaces } = await audit(database, quota, workspaceId, request.month);
      return {
        month,
        balanced: workspaces.every(({ differences }) => differences.length === 0),
        workspaces: workspaces.map((each) => ({ ...each, differences: each.differences.slice(0, MAX_DIFFERENCES) })),
      };
    },
  };
}
