import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CorrectUnpaidRequest, CorrectUnpaidResponseSchema } from "@parley/rpc/quota";
import { type Database, invalidArgument, isWorkspaceId, parseDay } from "@parley/service-kit";
import { correctUnpaid } from "./unpaid.store.ts";

export async function handleCorrectUnpaid(
  database: Database,
  request: CorrectUnpaidRequest,
): Promise<MessageInitShape<typeof CorrectUnpaidResponseSchema>> {
  const { workspaceId, expected, unpaid } = request;
  const day = parseDay(request.day);
  if (day === undefined) throw invalidArgument("day is missing");
  if (expected < 0 || unpaid < 0) throw invalidArgument("expected and unpaid must not be negative");
  if (!isWorkspaceId(workspaceId)) return { corrected: false };
  return { corrected: await correctUnpaid(database, { workspaceId, day, expected, unpaid }) };
}
