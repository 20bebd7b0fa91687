import type { ServiceImpl } from "@connectrpc/connect";
import type { UsageAuditAdminService } from "@parley/rpc/conversation";
import { invalidArgument, isWorkspaceId } from "@parley/service-kit";
import { type RepairDeps, repair } from "../reconciliation/index.ts";
import { type AuditedQuota, auditUsage, type WorkspaceUsageAudit } from "./usage-audit.service.ts";

/** Per workspace. */
const MAX_DIFFERENCES = 100;
const DAY_MS = 86_400_000;

/** What a call needs for the workspaces of one shard. */
export type UsageAuditShard = RepairDeps & { quota: AuditedQuota };

export type UsageAuditAdminDeps = {
  /** By the shard's number. */
  shards: readonly UsageAuditShard[];
  findShard: (workspaceId: string) => Promise<UsageAuditShard>;
  /** The default of a repair's `since`, in days before now. */
  days: number;
  /** A repair skips younger turns and holds, because they are probably being settled. */
  minAgeSeconds: number;
};

export function createUsageAuditAdmin(deps: UsageAuditAdminDeps): ServiceImpl<typeof UsageAuditAdminService> {
  const { shards, findShard, days, minAgeSeconds } = deps;
  return {
    async repair({ workspaceId, since, token }) {
      const start = since || new Date(Date.now() - days * DAY_MS).toISOString();
      const position = parseToken(token);
      const shard = workspaceId === "" ? shards[position.shard] : await findShard(workspaceId);
      if (shard === undefined) throw invalidArgument("token must be the next_token of the previous response");
      const request = { workspaceId, since: start, token: position.token };
      const { nextToken, ...repaired } = await repair(shard, request, minAgeSeconds);
      const isMore = nextToken !== "" || (workspaceId === "" && position.shard + 1 < shards.length);
      const next = nextToken === "" ? { shard: position.shard + 1, token: "" } : { ...position, token: nextToken };
      return { ...repaired, nextToken: isMore ? formatToken(next) : "" };
    },
    async auditUsage(request, { signal }) {
      const { workspaceId } = request;
      // No workspace can have this id, so there is nothing to compare.
      if (workspaceId !== "" && !isWorkspaceId(workspaceId))
        return { balanced: true, month: request.month, workspaces: [] };
      let { month } = request;
      const workspaces: WorkspaceUsageAudit[] = [];
      for (const { database, quota } of workspaceId === "" ? shards : [await findShard(workspaceId)]) {
        const audited = await auditUsage(database, quota, { workspaceId, month }, signal);
        month = audited.month;
        workspaces.push(...audited.workspaces);
      }
      return {
        month,
        balanced: workspaces.every(({ differences }) => differences.length === 0),
        workspaces: workspaces.map((each) => ({ ...each, differences: each.differences.slice(0, MAX_DIFFERENCES) })),
      };
    },
  };
}

/** A token of Repair: the token within a shard, after the shard's number and a slash unless it is the first shard. */
function parseToken(text: string): { shard: number; token: string } {
  const [, shard = "0", token = ""] = /^(?:(\d{1,2})\/)?(.*)$/s.exec(text) ?? [];
  return { shard: Number(shard), token };
}

function formatToken({ shard, token }: { shard: number; token: string }): string {
  return shard === 0 ? token : `${shard}/${token}`;
}
