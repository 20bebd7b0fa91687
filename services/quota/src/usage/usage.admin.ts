import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { MonthlyUsageSchema, WorkspaceAdminService } from "@parley/rpc/quota";
import {
  createPageTokens,
  cutPage,
  type Database,
  invalidArgument,
  isWorkspaceId,
  notFound,
  parseMonth,
} from "@parley/service-kit";
import { listNearestCap, listUsage } from "./list-usage.store.ts";
import { computeResetTime } from "./month.ts";
import { currentMonth, readUsage } from "./usage.store.ts";

const DEFAULT_PAGE_SIZE = 500;
const MAX_PAGE_SIZE = 1_000;
const DEFAULT_NEAREST_CAP_LIMIT = 10;
const MAX_NEAREST_CAP_LIMIT = 100;
const pageTokens = createPageTokens({ workspaceId: isWorkspaceId });

/** Reads a workspace's usage of a month ("YYYY-MM"), or of the current month if `month` is empty. Throws workspace_not_found. */
export async function readMonthlyUsage(
  database: Database,
  { workspaceId, month }: { workspaceId: string; month: string },
): Promise<MessageInitShape<typeof MonthlyUsageSchema>> {
  const parsedMonth = parseMonth(month);
  const usage = isWorkspaceId(workspaceId) ? await readUsage(database, workspaceId, parsedMonth) : undefined;
  if (usage === undefined) throw notFound("workspace_not_found", "no such workspace");
  return { ...usage, resetsAt: computeResetTime(usage.month) };
}

/** Implements the calls of WorkspaceAdminService that only read usage. */
export function createUsageAdmin(
  database: Database,
): Pick<ServiceImpl<typeof WorkspaceAdminService>, "showUsage" | "listUsage" | "listNearestCap"> {
  return {
    async showUsage(request) {
      return { usage: await readMonthlyUsage(database, request) };
    },
    async listUsage(request) {
      const { pageSize, pageToken } = request;
      if (pageSize < 0 || pageSize > MAX_PAGE_SIZE)
        throw invalidArgument(`page_size must be from 0 to ${MAX_PAGE_SIZE}`);
      const after = pageTokens.parse(pageToken)?.workspaceId ?? "";
      const month = parseMonth(request.month) ?? (await currentMonth(database));
      const size = pageSize || DEFAULT_PAGE_SIZE;
      const { page, last } = cutPage(await listUsage(database, month, { after, limit: size + 1 }), size);
      return { workspaces: page, month, nextPageToken: pageTokens.format(last) };
    },
    async listNearestCap({ limit }) {
      if (limit < 0 || limit > MAX_NEAREST_CAP_LIMIT)
        throw invalidArgument(`limit must be from 0 to ${MAX_NEAREST_CAP_LIMIT}`);
      return { workspaces: await listNearestCap(database, limit || DEFAULT_NEAREST_CAP_LIMIT) };
    },
  };
}
