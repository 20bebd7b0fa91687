import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RenewEdgeRequest, RenewEdgeResponseSchema } from "@parley/rpc/conversation";
import { type Database, invalid, isUuid } from "@parley/service-kit";
import { renewEdge } from "./edge-leases.store.ts";

export async function handleRenewEdge(
  database: Database,
  leaseSeconds: number,
  request: RenewEdgeRequest,
): Promise<MessageInitShape<typeof RenewEdgeResponseSchema>> {
  if (!isUuid(request.edgeId)) throw invalid("edge_id must be a UUID");
  await renewEdge(database, request.edgeId, leaseSeconds);
  return { leaseSeconds };
}
