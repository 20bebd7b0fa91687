import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ListMonthTurnsRequest, ListMonthTurnsResponseSchema } from "@parley/rpc/quota";
import { type Database, isWorkspaceId } from "@parley/service-kit";
import { listTurns } from "../usage/index.ts";

/** Limits each list of a response message to about 400 KiB. */
const IDS_PER_MESSAGE = 10_000;

export async function* handleListMonthTurns(
  database: Database,
  request: ListMonthTurnsRequest,
): AsyncGenerator<MessageInitShape<typeof ListMonthTurnsResponseSchema>> {
  const { workspaceId, month } = request;
  if (!isWorkspaceId(workspaceId)) return;
  const { counted, held } = await listTurns(database, workspaceId, month);
  for (let offset = 0; offset < Math.max(counted.length, held.length); offset += IDS_PER_MESSAGE) {
    yield {
      counted: counted.slice(offset, offset + IDS_PER_MESSAGE),
      held: held.slice(offset, offset + IDS_PER_MESSAGE),
    };
  }
}
