import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetMonthRequest, GetMonthResponseSchema } from "@parley/rpc/quota";
import { type Database, isWorkspaceId, parseMonth } from "@parley/service-kit";
import { currentMonth, readMonth } from "../usage/index.ts";

export async function handleGetMonth(
  database: Database,
  request: GetMonthRequest,
): Promise<MessageInitShape<typeof GetMonthResponseSchema>> {
  const month = parseMonth(request.month) ?? (await currentMonth(database));
  // An invalid ID matches no workspace; an empty one selects all.
  const isValidFilter = request.workspaceId === "" || isWorkspaceId(request.workspaceId);
  return { month, workspaces: isValidFilter ? await readMonth(database, request.workspaceId, month) : [] };
}
