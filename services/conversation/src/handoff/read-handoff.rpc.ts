import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ReadHandoffRequest, ReadHandoffResponseSchema } from "@parley/rpc/conversation";
import type { Database } from "@parley/service-kit";
import { refuseVisitorMismatch, sessionNotFound } from "../sessions/index.ts";
import { readHandoff, toHandoffMessageRecord } from "./handoff-messages.store.ts";
import { toHandoffMessage } from "./handoff-state.store.ts";

/** Reads the state of a visitor's session, and its messages of and to people. */
export async function handleReadHandoff(
  database: Database,
  request: ReadHandoffRequest,
): Promise<MessageInitShape<typeof ReadHandoffResponseSchema>> {
  const page = await readHandoff(database, request, request.after);
  if (page === undefined) {
    await refuseVisitorMismatch(database, request);
    throw sessionNotFound();
  }
  const { handoff, messages, hasMore, position } = page;
  return {
    handoff: toHandoffMessage(handoff),
    messages: messages.map(toHandoffMessageRecord),
    hasMore,
    position: BigInt(position),
  };
}
