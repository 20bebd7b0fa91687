import { setTimeout as sleep } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { status } from "@parley/rpc";
import type { RenewEdgeRequest, RenewEdgeResponseSchema } from "@parley/rpc/conversation";
import { ServiceError, type Shard, toRpcError } from "@parley/service-kit";
import { withoutNul } from "../text.ts";
import { renewEdge } from "./edge-leases.store.ts";

/**
 * Renews an edge's lease on every shard, because the turns of the edge may be on any. Returns the closed turns of the shards that respond in time. If
 * no shard stores the lease in time, fails with the code `lease_not_stored`. The edge counts this error as a response, so it
 * stays ready during a database outage. Calls `onFailure` with each shard that does not store the lease in time.
 */
export async function handleRenewEdge(
  shards: readonly Shard[],
  leaseSeconds: number,
  request: RenewEdgeRequest,
  onFailure: (shard: number) => void = () => undefined,
): Promise<MessageInitShape<typeof RenewEdgeResponseSchema>> {
  const edge = { ...request, address: withoutNul(request.address), token: withoutNul(request.token) };
  // A tenth of the lease, and less than the edge's deadline of 5 s.
  const waitMs = Math.min(leaseSeconds * 100, 4_000);
  const renewals = shards.map(({ database }) => {
    const renewal = renewEdge(database, edge, leaseSeconds).catch((error: unknown) => {
      // Other errors, such as a missing privilege, are permanent.
      if (toRpcError(error).status !== status.UNAVAILABLE) throw error;
    });
    return Promise.race([renewal, sleep(waitMs, undefined, { ref: false })]);
  });
  const results = await Promise.all(renewals);
  for (const [index, { number }] of shards.entries()) if (results[index] === undefined) onFailure(number);
  const closedTurns = results.flatMap((turns) => turns ?? []);
  if (results.every((turns) => turns === undefined))
    // Not "unavailable", because gRPC clients retry a call with that status.
    throw new ServiceError("failed_precondition", "lease_not_stored", "the database did not store the lease");
  return { leaseSeconds, closedTurns };
}
