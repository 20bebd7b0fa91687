import type { ServiceImpl } from "@connectrpc/connect";
import type { RpcClient } from "@parley/rpc";
import type { CannedReplyAdminService } from "@parley/rpc/conversation";
import type { QuotaService } from "@parley/rpc/quota";
import { type Database, isWorkspaceId, notFound, ServiceError } from "@parley/service-kit";
import { deleteReply, insertReply, listReplies, type StoredReply, updateReply } from "./canned-replies.store.ts";

const MAX_REPLIES = 200;
const GET_WORKSPACE_TIMEOUT_MS = 3_000;

export function createCannedReplyAdmin(
  database: Database,
  quota: Pick<RpcClient<typeof QuotaService>, "getWorkspace">,
): ServiceImpl<typeof CannedReplyAdminService> {
  return {
    async addCannedReply({ workspaceId, name, text }) {
      // Throws workspace_not_found for an unknown workspace.
      await quota.getWorkspace({ workspaceId }, { timeoutMs: GET_WORKSPACE_TIMEOUT_MS, waitForReady: true });
      const stored = await insertReply(database, workspaceId, { name: name.trim(), text }, MAX_REPLIES);
      if (stored === undefined)
        throw new ServiceError(
          "resource_exhausted",
          "too_many_canned_replies",
          `a workspace has at most ${MAX_REPLIES} canned replies`,
        );
      return { reply: toMessage(stored) };
    },
    async updateCannedReply({ workspaceId, id, name, text }) {
      if (!isWorkspaceId(workspaceId)) throw replyNotFound();
      const stored = await updateReply(database, workspaceId, { id, name: name.trim(), text });
      if (stored === undefined) throw replyNotFound();
      return { reply: toMessage(stored) };
    },
    async listCannedReplies({ workspaceId }) {
      if (!isWorkspaceId(workspaceId)) return { replies: [] };
      return { replies: (await listReplies(database, workspaceId)).map(toMessage) };
    },
    async removeCannedReply({ workspaceId, id }) {
      if (isWorkspaceId(workspaceId)) await deleteReply(database, workspaceId, id);
      return {};
    },
  };
}

function replyNotFound(): ServiceError {
  return notFound("canned_reply_not_found", "the workspace has no such canned reply");
}

function toMessage({ id, ...reply }: StoredReply) {
  return { ...reply, id: BigInt(id) };
}
