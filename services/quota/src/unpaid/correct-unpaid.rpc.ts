import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CorrectUnpaidRequest, CorrectUnpaidResponseSchema } from "@parley/rpc/quota";
import { type Database, isWorkspaceId } from "@parley/service-kit";
import { correctUnpaid } from "./unpaid.store.ts";

export async function handleCorrectUnpaid(
  database: Database,
  request: CorrectUnpaidRequest,
): Promise<MessageInitShape<typeof CorrectUnpaidResponseSchema>> {
  const { workspaceId, day, expected, unpaid } = request;
  if (!isWorkspaceId(workspaceId)) return { corrected: false };
  return { corrected: await correctUnpaid(database, { workspaceId, day, expected, unpaid }) };
}
