import { setTimeout as sleep } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RenewEdgeRequest, RenewEdgeResponseSchema } from "@parley/rpc/conversation";
import { type Database, invalidArgument, isUuid, ServiceError } from "@parley/service-kit";
import { withoutNul } from "../text.ts";
import { renewEdge } from "./edge-leases.store.ts";

/** The longest wait for the database is a tenth of the lease, for example 3 s for a lease of 30 s. */
const MAX_WAIT_MS_PER_LEASE_SECOND = 100;
/** Must be below the edge's deadline of 5 s. */
const MAX_WAIT_MS = 4_000;

/**
 * Renews an edge's lease. If the database does not store the lease in time, responds with the code `lease_not_stored`. The response shows the
 * edge that it can reach this service.
 */
export async function handleRenewEdge(
  database: Database,
  leaseSeconds: number,
  request: RenewEdgeRequest,
): Promise<MessageInitShape<typeof RenewEdgeResponseSchema>> {
  if (!isUuid(request.edgeId)) throw invalidArgument("edge_id must be a UUID");
  const edge = { ...request, address: withoutNul(request.address), token: withoutNul(request.token) };
  const waitMs = Math.min(MAX_WAIT_MS, leaseSeconds * MAX_WAIT_MS_PER_LEASE_SECOND);
  const renewal = renewEdge(database, edge, leaseSeconds).catch(() => undefined);
  const closedTurns = await Promise.race([renewal, sleep(waitMs, undefined, { ref: false })]);
  if (closedTurns === undefined)
    // Not "unavailable", because gRPC clients retry a call with that status. The edge itself retries the renewal.
    throw new ServiceError("failed_precondition", "lease_not_stored", "the database did not store the lease");
  return { leaseSeconds, closedTurns };
}
