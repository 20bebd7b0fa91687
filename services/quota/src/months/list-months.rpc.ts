import type { MessageInitShape } from "@bufbuild/protobuf";
import type { MonthSchema } from "@parley/rpc/quota";
import type { Database } from "@parley/service-kit";
import { listMonths } from "./months.store.ts";

/**
 * Handles QuotaService/ListMonths and WorkspaceAdminService/ListUsageMonths. The counts are sums over all workspaces. `pruned` counts the
 * messages whose rows of the usage ledger were deleted.
 */
export async function handleListMonths(
  database: Database,
): Promise<{ months: Omit<MessageInitShape<typeof MonthSchema>, "$typeName">[] }> {
  const months = await listMonths(database);
  return {
    months: months.map(({ used, held, pruned, ...month }) => ({
      ...month,
      used: BigInt(used),
      held: BigInt(held),
      pruned: BigInt(pruned),
    })),
  };
}
