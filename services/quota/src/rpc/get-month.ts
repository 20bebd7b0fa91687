import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetMonthRequest, GetMonthResponseSchema } from "@parley/rpc/quota";
import { type Database, parseMonth } from "@parley/service-kit";
import { currentMonth, readMonth } from "../store/usage.ts";

export async function handleGetMonth(
  database: Database,
  request: GetMonthRequest,
): Promise<MessageInitShape<typeof GetMonthResponseSchema>> {
  const month = parseMonth(request.month) ?? (await currentMonth(database));
  return { month, workspaces: await readMonth(database, request.workspaceId, month) };
}
