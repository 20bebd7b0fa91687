import type { ServiceImpl } from "@connectrpc/connect";
import type { AuditAdminService } from "@parley/rpc/conversation";
import { type Database, isWorkspaceId, parseMonth } from "@parley/service-kit";
import { type AuditedQuota, audit } from "./audit.service.ts";

const MAX_DIFFERENCES = 100;

/** The admin service that compares the transcripts with the quota service's books. */
export function auditAdmin(database: Database, quota: AuditedQuota): ServiceImpl<typeof AuditAdminService> {
  return {
    async audit({ workspaceId, month: asked }) {
      parseMonth(asked);
      // A workspace that could not exist has neither turns nor books.
      if (workspaceId !== "" && !isWorkspaceId(workspaceId)) return { balanced: true, month: asked, workspaces: [] };
      const { month, workspaces } = await audit(database, quota, workspaceId, asked);
      return {
        month,
        balanced: workspaces.every(({ differences }) => differences.length === 0),
        workspaces: workspaces.map((each) => ({ ...each, differences: each.differences.slice(0, MAX_DIFFERENCES) })),
      };
    },
  };
}
