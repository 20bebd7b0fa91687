import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetMonthRequest, GetMonthResponseSchema } from "@parley/rpc/quota";
import { type Database, isWorkspaceId } from "@parley/service-kit";
import { currentMonth, readMonth, readMonthPage } from "../usage/index.ts";

export async function handleGetMonth(
  database: Database,
  request: GetMonthRequest,
): Promise<MessageInitShape<typeof GetMonthResponseSchema>> {
  const month = request.month || (await currentMonth(database));
  const { maxWorkspaces: limit, afterWorkspaceId: after } = request;
  if (limit > 0 && request.workspaceId === "")
    return { month, workspaces: await readMonthPage(database, month, { after, limit }) };
  // A malformed id matches no workspace; an empty one selects all.
  const isValidFilter = request.workspaceId === "" || isWorkspaceId(request.workspaceId);
  return { month, workspaces: isValidFilter ? await readMonth(database, request.workspaceId, month) : [] };
}
