import { create } from "@bufbuild/protobuf";
import { ConversationService, type EraseVisitorRequest, EraseVisitorResponseSchema } from "@parley/rpc/conversation";
import {
  type Database,
  describeCall,
  insertEntry,
  invalidArgument,
  isLongerThan,
  isUuid,
  isWorkspaceId,
  transaction,
} from "@parley/service-kit";
import { storeErasure } from "./erasures.store.ts";
import type { VisitorEraser } from "./erasures.worker.ts";

const METHOD = ConversationService.method.eraseVisitor;
const MAX_VISITOR_ID_CHARACTERS = 1_024;

/**
 * Stores a request to erase a visitor and starts the erasure. If a member requests the erasure, adds an entry to the audit log in the same
 * transaction. Idempotent by request_id. Returns how many sessions of the visitor are not erased yet.
 */
export async function handleEraseVisitor(
  database: Database,
  eraser: Pick<VisitorEraser, "start">,
  request: EraseVisitorRequest,
): Promise<{ sessions: bigint }> {
  const { workspaceId, requestId, visitorId, member } = request;
  if (!isUuid(requestId)) throw invalidArgument("request_id must be a UUID");
  if (visitorId === "" || visitorId.includes("\0") || isLongerThan(visitorId, MAX_VISITOR_ID_CHARACTERS))
    throw invalidArgument(`visitor_id must have 1 to ${MAX_VISITOR_ID_CHARACTERS} characters and no NUL`);
  if (!isWorkspaceId(workspaceId)) return { sessions: 0n };
  const sessions = await transaction(database, async (connection) => {
    const stored = await storeErasure(connection, { workspaceId, requestId, visitorId });
    const response = create(EraseVisitorResponseSchema);
    if (stored.isNew && member !== "")
      await insertEntry(connection, "conversation", describeCall(METHOD, member, request, response));
    return stored.sessions;
  });
  eraser.start();
  return { sessions: BigInt(sessions) };
}
