import type { MessageInitShape } from "@bufbuild/protobuf";
import type { MonthSchema } from "@parley/rpc/quota";
import { onEachShard, type Shard } from "@parley/service-kit";
import { listMonths, type Month } from "./months.store.ts";

/**
 * Handles QuotaService/ListMonths of one shard, and WorkspaceAdminService/ListUsageMonths of all shards. The counts are sums over all workspaces
 * of the shards. `pruned` counts the messages whose rows of the usage ledger were deleted.
 */
export async function handleListMonths(
  shards: readonly Shard[],
): Promise<{ months: Omit<MessageInitShape<typeof MonthSchema>, "$typeName">[] }> {
  const months = mergeMonths(await onEachShard(shards, listMonths));
  return {
    months: months.map(({ used, held, pruned, ...month }) => ({
      ...month,
      used: BigInt(used),
      held: BigInt(held),
      pruned: BigInt(pruned),
    })),
  };
}

/** Merges the months of all shards, newest first. A month is closed, or pruned, when every shard has closed or pruned it. */
function mergeMonths(shards: readonly (readonly Month[])[]): Month[] {
  const byMonth = Map.groupBy(shards.flat(), ({ month }) => month);
  /** Returns the last of the times, or an empty text if a shard has none. */
  const findEnd = (times: readonly string[]) =>
    times.length < shards.length || times.includes("") ? "" : (times.toSorted((a, b) => (a < b ? 1 : -1))[0] ?? "");
  const months = [...byMonth].map(([month, rows]) => ({
    month,
    used: rows.reduce((sum, { used }) => sum + used, 0),
    held: rows.reduce((sum, { held }) => sum + held, 0),
    pruned: rows.reduce((sum, { pruned }) => sum + pruned, 0),
    closedAt: findEnd(rows.map(({ closedAt }) => closedAt)),
    prunedAt: findEnd(rows.map(({ prunedAt }) => prunedAt)),
    endedSeconds: Math.min(...rows.map(({ endedSeconds }) => endedSeconds)),
  }));
  return months.sort((a, b) => (a.month < b.month ? 1 : -1));
}
