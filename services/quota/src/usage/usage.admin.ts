import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { ShowUsageResponseSchema, WorkspaceAdminService } from "@parley/rpc/quota";
import {
  createPageTokens,
  cutPage,
  type Database,
  isWorkspaceId,
  listFromShards,
  notFound,
  readFromAnyShard,
  type ShardedDatabase,
} from "@parley/service-kit";
import { listMonthEvents, toEventMessage } from "../events/index.ts";
import { listNearestCap, listUsage } from "./list-usage.store.ts";
import { computeResetTime } from "./month.ts";
import { currentMonth, readUsage } from "./usage.store.ts";

const DEFAULT_PAGE_SIZE = 500;
const DEFAULT_NEAREST_CAP_LIMIT = 10;
const SHOWN_EVENTS = 20;
const pageTokens = createPageTokens({ workspaceId: isWorkspaceId });

/**
 * Reads a workspace's usage of a month ("YYYY-MM"), or of the current month if `month` is empty, its newest events, and its settings. Throws
 * workspace_not_found.
 */
export async function readMonthlyUsage(
  database: Database,
  { workspaceId, month }: { workspaceId: string; month: string },
): Promise<MessageInitShape<typeof ShowUsageResponseSchema>> {
  const usage = isWorkspaceId(workspaceId) ? await readUsage(database, workspaceId, month || undefined) : undefined;
  if (usage === undefined) throw notFound("workspace_not_found", "no such workspace");
  const { retentionMinutes, thresholds, ...figures } = usage;
  const events = await listMonthEvents(database, { workspaceId, month: usage.month, limit: SHOWN_EVENTS });
  const resetsAt = computeResetTime(usage.month);
  return { usage: { ...figures, resetsAt }, retentionMinutes, thresholds, events: events.map(toEventMessage) };
}

/** Implements the calls of WorkspaceAdminService that only read usage. */
export function createUsageAdmin({
  database,
  shards,
}: ShardedDatabase): Pick<ServiceImpl<typeof WorkspaceAdminService>, "showUsage" | "listUsage" | "listNearestCap"> {
  return {
    showUsage: (request) => readMonthlyUsage(database, request),
    async listUsage(request) {
      const { pageSize, pageToken } = request;
      const after = pageTokens.parse(pageToken)?.workspaceId ?? "";
      const month = request.month || (await readFromAnyShard(shards, currentMonth));
      const size = pageSize || DEFAULT_PAGE_SIZE;
      const limit = size + 1;
      const rows = await listFromShards(shards, (shard) => listUsage(shard, month, { after, limit }), {
        keysOf: ({ workspaceId }) => [workspaceId],
        limit,
      });
      const { page, last } = cutPage(rows, size);
      return { workspaces: page, month, nextPageToken: pageTokens.format(last) };
    },
    async listNearestCap({ limit }) {
      const length = limit || DEFAULT_NEAREST_CAP_LIMIT;
      const workspaces = await listFromShards(shards, (shard) => listNearestCap(shard, length), {
        keysOf: ({ workspaceId, used, held, cap }) => [-(used + held) / cap, workspaceId],
        limit: length,
      });
      return { workspaces };
    },
  };
}
