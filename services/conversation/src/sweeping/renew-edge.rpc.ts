import { setTimeout as sleep } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { status } from "@parley/rpc";
import type { RenewEdgeRequest, RenewEdgeResponseSchema } from "@parley/rpc/conversation";
import { type Database, ServiceError, toRpcError } from "@parley/service-kit";
import { withoutNul } from "../text.ts";
import { renewEdge } from "./edge-leases.store.ts";

/**
 * If the database does not store the lease in time, fails with the code `lease_not_stored`. The edge counts this error as a response, so it
 * stays ready during a database outage.
 */
export async function handleRenewEdge(
  database: Database,
  leaseSeconds: number,
  request: RenewEdgeRequest,
): Promise<MessageInitShape<typeof RenewEdgeResponseSchema>> {
  const edge = { ...request, address: withoutNul(request.address), token: withoutNul(request.token) };
  // A tenth of the lease, and less than the edge's deadline of 5 s.
  const waitMs = Math.min(leaseSeconds * 100, 4_000);
  const renewal = renewEdge(database, edge, leaseSeconds).catch((error: unknown) => {
    // Other errors, such as a missing privilege, are permanent.
    if (toRpcError(error).status !== status.UNAVAILABLE) throw error;
  });
  const closedTurns = await Promise.race([renewal, sleep(waitMs, undefined, { ref: false })]);
  if (closedTurns === undefined)
    // Not "unavailable", because gRPC clients retry a call with that status.
    throw new ServiceError("failed_precondition", "lease_not_stored", "the database did not store the lease");
  return { leaseSeconds, closedTurns };
}
