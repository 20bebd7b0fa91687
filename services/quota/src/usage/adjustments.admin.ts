import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { UsageAdjustmentSchema, WorkspaceAdminService } from "@parley/rpc/quota";
import {
  type Database,
  invalidArgument,
  isUuid,
  isWorkspaceId,
  notFound,
  parseMonth,
  ServiceError,
} from "@parley/service-kit";
import { insertAdjustment, listAdjustments, type UsageAdjustment } from "./adjustments.store.ts";
import { requireText } from "./require-text.ts";
import { currentMonth } from "./usage.store.ts";

const MAX_AMOUNT = 1_000_000;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** Implements the calls of WorkspaceAdminService that adjust a month's usage and list the adjustments. */
export function createAdjustmentAdmin(
  database: Database,
): Pick<ServiceImpl<typeof WorkspaceAdminService>, "adjustUsage" | "listAdjustments"> {
  return {
    async adjustUsage({ workspaceId, amount, requestId, ...request }) {
      const month = await requireStartedMonth(database, request.month);
      if (amount === 0 || Math.abs(amount) > MAX_AMOUNT)
        throw invalidArgument(`amount must be from -${MAX_AMOUNT} to ${MAX_AMOUNT}, and not 0`);
      if (!isUuid(requestId)) throw invalidArgument("request_id must be a UUID");
      const reason = requireText("reason", request.reason);
      const operator = requireText("operator", request.operator);
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
      if (limit < 0 || limit > MAX_LIMIT) throw invalidArgument(`limit must be from 0 to ${MAX_LIMIT}`);
      const month = parseMonth(request.month) ?? (await currentMonth(database));
      if (!isWorkspaceId(workspaceId)) return { adjustments: [] };
      const adjustments = await listAdjustments(database, { workspaceId, month, limit: limit || DEFAULT_LIMIT });
      return { adjustments: adjustments.map(toMessage) };
    },
  };
}

/** Throws invalid_argument unless the month is the current one or an earlier one. */
async function requireStartedMonth(database: Database, text: string): Promise<string> {
  const month = parseMonth(text);
  if (month === undefined) throw invalidArgument("month is missing");
  if (month > (await currentMonth(database))) throw invalidArgument("month must not be in the future");
  return month;
}

function hasSameContent(stored: UsageAdjustment, requested: Omit<UsageAdjustment, "adjustedAt">): boolean {
  const { month, amount, reason, operator } = requested;
  return stored.month === month && stored.amount === amount && stored.reason === reason && stored.operator === operator;
}

function toMessage(adjustment: UsageAdjustment): MessageInitShape<typeof UsageAdjustmentSchema> {
  return { ...adjustment, adjustedAt: adjustment.adjustedAt.toISOString() };
}
