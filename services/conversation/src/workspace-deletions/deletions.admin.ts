import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { RpcClient } from "@parley/rpc";
import type { WorkspaceDeletionAdminService, WorkspaceDeletionSchema } from "@parley/rpc/conversation";
import type { QuotaService } from "@parley/rpc/quota";
import { type Database, isWorkspaceId, notFound, ServiceError } from "@parley/service-kit";
import { removeDeletion, storeDeletion, type WorkspaceDeletion } from "./deletions.store.ts";

const QUOTA_CALL_OPTIONS = { timeoutMs: 5_000, waitForReady: true };

export type DeletionAdminDeps = {
  database: Database;
  quota: Pick<RpcClient<typeof QuotaService>, "setWorkspaceDeleted">;
};

/**
 * Both methods are idempotent, so the caller can repeat a call that failed halfway. If the quota service returns workspace_not_found, the caller
 * receives that error.
 */
export function createDeletionAdmin({
  database,
  quota,
}: DeletionAdminDeps): ServiceImpl<typeof WorkspaceDeletionAdminService> {
  return {
    async deleteWorkspace({ workspaceId }) {
      requireWorkspaceId(workspaceId);
      await quota.setWorkspaceDeleted({ workspaceId, deleted: true }, QUOTA_CALL_OPTIONS);
      return { deletion: toProto(await storeDeletion(database, workspaceId)) };
    },
    async restoreWorkspace({ workspaceId }) {
      requireWorkspaceId(workspaceId);
      if (!(await removeDeletion(database, workspaceId)))
        throw new ServiceError(
          "failed_precondition",
          "workspace_erased",
          "the erasure of the workspace's data has begun, so the workspace cannot be restored",
        );
      await quota.setWorkspaceDeleted({ workspaceId, deleted: false }, QUOTA_CALL_OPTIONS);
      return {};
    },
  };
}

/** Throws workspace_not_found for a malformed id, because no workspace can have it. */
function requireWorkspaceId(workspaceId: string): void {
  if (!isWorkspaceId(workspaceId)) throw notFound("workspace_not_found", "no such workspace");
}

function toProto(deletion: WorkspaceDeletion): MessageInitShape<typeof WorkspaceDeletionSchema> {
  const { workspaceId, deletedAt, eraseAt } = deletion;
  return { workspaceId, deletedAt: deletedAt.toISOString(), eraseAt: eraseAt.toISOString() };
}
