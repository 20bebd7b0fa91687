import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type EraseVisitorRequest, EraseVisitorResponseSchema, SessionAdminService } from "@parley/rpc/conversation";
import { type AuditLog, type Database, describeCall, ServiceError, transaction } from "@parley/service-kit";
import { storeErasure } from "./erasures.store.ts";
import type { VisitorEraser } from "./erasures.worker.ts";

const METHOD = SessionAdminService.method.eraseVisitor;

export type EraseVisitorDeps = {
  database: Database;
  auditLog: Pick<AuditLog, "recordIn">;
  /** By the shard's number. */
  visitorErasers: readonly Pick<VisitorEraser, "start">[];
};

/**
 * Stores a request to erase a visitor, adds an entry to the audit log in the same transaction, and starts the erasure. Idempotent by request_id.
 * Returns how many sessions of the visitor are not erased yet. Throws request_id_reused if the request_id belongs to another visitor's erasure.
 */
export async function handleEraseVisitor(
  { database, auditLog, visitorErasers }: EraseVisitorDeps,
  request: EraseVisitorRequest,
): Promise<{ sessions: bigint }> {
  const { workspaceId, visitorId, member } = request;
  const requestId = request.requestId || randomUUID();
  const { sessions, shard } = await transaction(database, async (connection) => {
    const stored = await storeErasure(connection, { workspaceId, requestId, visitorId });
    if (stored.isReused)
      throw new ServiceError(
        "already_exists",
        "request_id_reused",
        "this request_id belongs to another visitor's erasure",
      );
    const entry = describeCall(METHOD, member || undefined, request, create(EraseVisitorResponseSchema));
    if (stored.isNew) await auditLog.recordIn(connection, entry);
    return stored;
  });
  visitorErasers[shard]?.start();
  return { sessions: BigInt(sessions) };
}
