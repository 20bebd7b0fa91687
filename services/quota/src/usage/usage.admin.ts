import type { ServiceImpl } from "@connectrpc/connect";
import type { WorkspaceAdminService } from "@parley/rpc/quota";
import { type Database, invalidArgument, isWorkspaceId, parseMonth } from "@parley/service-kit";
import { listNearestCap, listUsage } from "./list-usage.store.ts";
import { currentMonth } from "./usage.store.ts";

const DEFAULT_PAGE_SIZE = 500;
const MAX_PAGE_SIZE = 1_000;
const DEFAULT_NEAREST_CAP_LIMIT = 10;
const MAX_NEAREST_CAP_LIMIT = 100;

/** Implements the calls of WorkspaceAdminService that list the usage of many workspaces. */
export function createUsageAdmin(
  database: Database,
): Pick<ServiceImpl<typeof WorkspaceAdminService>, "listUsage" | "listNearestCap"> {
  return {
    async listUsage(request) {
      const { pageSize, pageToken: after } = request;
      if (pageSize < 0 || pageSize > MAX_PAGE_SIZE)
        throw invalidArgument(`page_size must be from 0 to ${MAX_PAGE_SIZE}`);
      if (after !== "" && !isWorkspaceId(after))
        throw invalidArgument("page_token must be the next_page_token of the previous page");
      const month = parseMonth(request.month) ?? (await currentMonth(database));
      const limit = pageSize || DEFAULT_PAGE_SIZE;
      const workspaces = await listUsage(database, month, { after, limit });
      const last = workspaces.length === limit ? workspaces.at(-1) : undefined;
      return { workspaces, month, nextPageToken: last?.workspaceId ?? "" };
    },
    async listNearestCap({ limit }) {
      if (limit < 0 || limit > MAX_NEAREST_CAP_LIMIT)
        throw invalidArgument(`limit must be from 0 to ${MAX_NEAREST_CAP_LIMIT}`);
      return { workspaces: await listNearestCap(database, limit || DEFAULT_NEAREST_CAP_LIMIT) };
    },
  };
}
