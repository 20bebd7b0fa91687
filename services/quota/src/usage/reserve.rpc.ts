import type { MessageInitShape } from "@bufbuild/protobuf";
import { RESERVE_STATUSES } from "@parley/rpc/outcomes";
import type { ReserveRequest, ReserveResponseSchema } from "@parley/rpc/quota";
import { type Database, type FairQueue, isWorkspaceId, notFound } from "@parley/service-kit";
import { reserve } from "./reservations.store.ts";
import type { ReservationCounter } from "./usage.metrics.ts";

export type ReserveDeps = { database: Database; counter: ReservationCounter; limiter: FairQueue };

export async function handleReserve(
  { database, counter, limiter }: ReserveDeps,
  request: ReserveRequest,
  signal: AbortSignal,
): Promise<MessageInitShape<typeof ReserveResponseSchema>> {
  const { workspaceId, client } = request;
  const turnId = request.turnId.toLowerCase();
  const reservation = isWorkspaceId(workspaceId)
    ? await limiter.run(workspaceId, signal, () => reserve(database, workspaceId, turnId, { client, signal }))
    : undefined;
  if (reservation === undefined) throw notFound("workspace_not_found", "no such workspace");
  const { plan, used, cap } = reservation;
  counter.count(plan, reservation.status);
  return {
    status: RESERVE_STATUSES[reservation.status],
    ...(reservation.status === "held" && { month: reservation.month, day: reservation.day }),
    plan,
    used,
    cap,
  };
}
