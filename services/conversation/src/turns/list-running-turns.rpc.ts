import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ListRunningTurnsRequest, ListRunningTurnsResponseSchema } from "@parley/rpc/conversation";
import type { Database } from "@parley/service-kit";
import { listRunningTurns } from "./keyed-turns.store.ts";
import { toStoredTurnMessage } from "./stored-turn.ts";

/** Lists the running turns of a session. */
export async function handleListRunningTurns(
  database: Database,
  request: ListRunningTurnsRequest,
): Promise<MessageInitShape<typeof ListRunningTurnsResponseSchema>> {
  return { turns: (await listRunningTurns(database, request)).map(toStoredTurnMessage) };
}
