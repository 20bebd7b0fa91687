import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { CallLogAdminService, CallSchema } from "@parley/rpc/llm";
import {
  createPageTokens,
  cutPage,
  invalidArgument,
  isUuid,
  isWorkspaceId,
  listFromShards,
  type ShardedDatabase,
  shardOfWorkspace,
} from "@parley/service-kit";
import { type CallRow, listCalls, listCallsOfMonth } from "./calls.store.ts";
import { sumCalls } from "./sum-calls.store.ts";

const DEFAULT_PAGE_SIZE = 100;
const MAX_SUMMED_WORKSPACES = 1_000;
const pageTokens = createPageTokens({
  createdAtMicroseconds: (text) => /^\d{16}$/.test(text),
  callId: isUuid,
});

/** Returns the service that lists and sums the rows of the call log. `wallClock`, in ms since 1970, must be the clock that dates the rows. */
export function createCallLogAdmin(
  sharded: ShardedDatabase,
  wallClock: () => number,
): ServiceImpl<typeof CallLogAdminService> {
  const { database, shards } = sharded;
  /** Returns the shards of workspaces; all shards if `workspaceIds` is undefined. */
  const findShards = async (workspaceIds: readonly string[] | undefined) => {
    if (workspaceIds === undefined) return shards;
    return [...new Set(await Promise.all(workspaceIds.map((id) => shardOfWorkspace(sharded, "llm.calls", id))))];
  };
  const currentMonth = () => new Date(wallClock()).toISOString().slice(0, 7);
  return {
    async listCalls({ workspaceId, turnId }) {
      requireWorkspaceId(workspaceId);
      if (!isWorkspaceId(workspaceId)) return { calls: [] };
      return { calls: (await listCalls(database, workspaceId, turnId)).map(toMessage) };
    },
    async listCallsOfMonth({ workspaceId, month, pageSize, pageToken }) {
      requireWorkspaceId(workspaceId);
      const size = pageSize || DEFAULT_PAGE_SIZE;
      const before = pageTokens.parse(pageToken);
      if (!isWorkspaceId(workspaceId)) return { calls: [] };
      const listedMonth = month || currentMonth();
      const rows = await listCallsOfMonth(database, workspaceId, listedMonth, { before, limit: size + 1 });
      const { page, last } = cutPage(rows, size);
      return { calls: page.map(toMessage), nextPageToken: pageTokens.format(last) };
    },
    async sumCalls({ month, workspaceId, workspaceIds }) {
      const requestedIds = workspaceId === "" ? [...new Set(workspaceIds)] : [workspaceId];
      if (requestedIds.length > MAX_SUMMED_WORKSPACES)
        throw invalidArgument(`workspace_ids must have at most ${MAX_SUMMED_WORKSPACES} different ids`);
      requestedIds.forEach(requireWorkspaceId);
      const summedMonth = month || currentMonth();
      // Undefined means all workspaces.
      const validIds = requestedIds.length === 0 ? undefined : requestedIds.filter(isWorkspaceId);
      const shardsOfSums = await findShards(validIds);
      // Another shard has no calls of the workspaces, so each shard may sum all of them.
      const rows = await listFromShards(shardsOfSums, (shard) => sumCalls(shard, summedMonth, validIds), {
        keysOf: (sum) => [sum.workspaceId],
      });
      const sums = rows.map((sum) => ({
        ...sum,
        calls: BigInt(sum.calls),
        tokensIn: BigInt(sum.tokensIn),
        tokensOut: BigInt(sum.tokensOut),
        tokensCached: BigInt(sum.tokensCached),
        unpricedCalls: BigInt(sum.unpricedCalls),
        estimatedCalls: BigInt(sum.estimatedCalls),
      }));
      return { sums, month: summedMonth };
    },
  };
}

/** Throws if the id is missing. A malformed id is not an error: no workspace has this id, so there are no calls. */
function requireWorkspaceId(workspaceId: string): void {
  if (workspaceId === "") throw invalidArgument("workspace_id is missing");
}

function toMessage(row: CallRow): MessageInitShape<typeof CallSchema> {
  const { createdAt, estimated, cost, tries, ...rest } = row;
  return {
    ...rest,
    startedAt: createdAt.toISOString(),
    tokensEstimated: estimated,
    cost: cost ?? "",
    tries: [...tries],
  };
}
