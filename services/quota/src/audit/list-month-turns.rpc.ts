import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ListMonthTurnsRequest, ListMonthTurnsResponseSchema } from "@parley/rpc/quota";
import { type Database, invalid, isWorkspaceId, parseMonth } from "@parley/service-kit";
import { listTurns } from "../usage/index.ts";

/** Ids a piece; about 400 KiB. */
const PIECE = 10_000;

export async function* handleListMonthTurns(
  database: Database,
  request: ListMonthTurnsRequest,
): AsyncGenerator<MessageInitShape<typeof ListMonthTurnsResponseSchema>> {
  const month = parseMonth(request.month);
  if (month === undefined) throw invalid("month is missing");
  if (!isWorkspaceId(request.workspaceId)) return;
  const { counted, held } = await listTurns(database, request.workspaceId, month);
  for (let at = 0; at < Math.max(counted.length, held.length); at += PIECE) {
    yield { counted: counted.slice(at, at + PIECE), held: held.slice(at, at + PIECE) };
  }
}
