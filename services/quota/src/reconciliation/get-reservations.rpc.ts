import type { MessageInitShape } from "@bufbuild/protobuf";
import { RESERVATION_STATES } from "@parley/rpc/outcomes";
import type { GetReservationsRequest, GetReservationsResponseSchema } from "@parley/rpc/quota";
import type { Database } from "@parley/service-kit";
import { findReservations } from "./reservations.store.ts";

export async function handleGetReservations(
  database: Database,
  request: GetReservationsRequest,
): Promise<MessageInitShape<typeof GetReservationsResponseSchema>> {
  const reservations = await findReservations(database, request.turns);
  return { reservations: reservations.map((each) => ({ ...each, state: RESERVATION_STATES[each.state] })) };
}
