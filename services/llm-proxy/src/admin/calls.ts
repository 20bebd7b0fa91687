import type { ServiceImpl } from "@connectrpc/connect";
import type { CallLedgerAdminService } from "@parley/rpc/llm";
import { type Database, invalid, isUuid, isWorkspaceId } from "@parley/service-kit";
import { listCalls } from "../store/calls.ts";

/** The admin service that reads the call ledger. */
export function callLedgerAdmin(database: Database): ServiceImpl<typeof CallLedgerAdminService> {
  return {
    async listCalls({ workspaceId, turnId }) {
      if (!isWorkspaceId(workspaceId)) throw invalid("workspace_id is not that of a workspace");
      if (!isUuid(turnId)) throw invalid("turn_id is not a UUID");
      const rows = await listCalls(database, workspaceId, turnId);
      return {
        calls: rows.map((row) => ({
          startedAt: row.createdAt.toISOString(),
          model: row.model,
          outcome: row.outcome,
          attempts: row.attempts,
          tokensIn: row.tokensIn,
          tokensOut: row.tokensOut,
          tokensEstimated: row.estimated,
          firstTokenMs: row.firstTokenMs,
          latencyMs: row.latencyMs,
        })),
      };
    },
  };
}
