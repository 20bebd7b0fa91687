import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { UsageAdjustmentSchema, WorkspaceAdminService } from "@parley/rpc/quota";
import {
  invalidArgument,
  isWorkspaceId,
  notFound,
  readFromAnyShard,
  ServiceError,
  type ShardedDatabase,
} from "@parley/service-kit";
import { insertAdjustment, listAdjustments, type UsageAdjustment } from "./adjustments.store.ts";
import { currentMonth } from "./usage.store.ts";

const DEFAULT_LIMIT = 100;

/** Implements the calls of WorkspaceAdminService that adjust a month's usage and list the adjustments. */
export function createAdjustmentAdmin({
  database,
  shards,
}: ShardedDatabase): Pick<ServiceImpl<typeof WorkspaceAdminService>, "adjustUsage" | "listAdjustments"> {
  return {
    async adjustUsage({ workspaceId, amount, requestId, month, ...request }) {
      if (amount === 0) throw invalidArgument("amount must not be 0");
      if (month > (await readFromAnyShard(shards, currentMonth)))
        throw invalidArgument("month must not be in the future");
      const [reason, operator] = [request.reason.trim(), request.operator.trim()];
      const requested = { workspaceId, id: requestId.toLowerCase(), month, amount, reason, operator };
      const result = isWorkspaceId(workspaceId) ? await insertAdjustment(database, requested) : undefined;
      if (result === undefined) throw notFound("workspace_not_found", "no such workspace");
      if (result === "below_zero")
        throw new ServiceError("failed_precondition", "usage_below_zero", "the month's usage would fall below 0");
      const { adjustment, used } = result;
      if (!hasSameContent(adjustment, requested))
        throw new ServiceError("already_exists", "request_id_reused", "this request_id belongs to another adjustment");
      return { adjustment: toMessage(adjustment), used };
    },
    async listAdjustments({ workspaceId, limit, ...request }) {
      const month = request.month || (await readFromAnyShard(shards, currentMonth));
      if (!isWorkspaceId(workspaceId)) return { adjustments: [] };
      const adjustments = await listAdjustments(database, { workspaceId, month, limit: limit || DEFAULT_LIMIT });
      return { adjustments: adjustments.map(toMessage) };
    },
  };
}

function hasSameContent(stored: UsageAdjustment, requested: Omit<UsageAdjustment, "adjustedAt">): boolean {
  const { month, amount, reason, operator } = requested;
  return stored.month === month && stored.amount === amount && stored.reason === reason && stored.operator === operator;
}

function toMessage(adjustment: UsageAdjustment): MessageInitShape<typeof UsageAdjustmentSchema> {
  return { ...adjustment, adjustedAt: adjustment.adjustedAt.toISOString() };
}
