import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetUsageRequest, GetUsageResponseSchema } from "@parley/rpc/quota";
import { type Database, isWorkspaceId, notFound, parseMonth } from "@parley/service-kit";
import { computeResetTime } from "./month.ts";
import { readUsage } from "./usage.store.ts";

export async function handleGetUsage(
  database: Database,
  request: Pick<GetUsageRequest, "workspaceId" | "month">,
): Promise<MessageInitShape<typeof GetUsageResponseSchema>> {
  const month = parseMonth(request.month);
  const usage = isWorkspaceId(request.workspaceId) ? await readUsage(database, request.workspaceId, month) : undefined;
  if (usage === undefined) throw notFound("workspace_not_found", "no such workspace");
  return { ...usage, resetsAt: computeResetTime(usage.month) };
}
