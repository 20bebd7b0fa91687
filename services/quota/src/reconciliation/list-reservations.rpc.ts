import type { MessageInitShape } from "@bufbuild/protobuf";
import { RESERVATION_STATES, reservationStateFromProto } from "@parley/rpc/outcomes";
import type { ListReservationsRequest, ListReservationsResponseSchema } from "@parley/rpc/quota";
import { cutPage, type Database, isWorkspaceId, turnPageTokens } from "@parley/service-kit";
import { listReservations, type ReservationWindow } from "./reservations.store.ts";

const DEFAULT_PAGE_SIZE = 500;

export async function handleListReservations(
  database: Database,
  request: ListReservationsRequest,
): Promise<MessageInitShape<typeof ListReservationsResponseSchema>> {
  const { since, minAgeSeconds, pageSize, workspaceId } = request;
  // The rules of the proto exclude the state void.
  const state = reservationStateFromProto(request.state) as ReservationWindow["state"];
  const position = turnPageTokens.parse(request.pageToken);
  if (workspaceId !== "" && !isWorkspaceId(workspaceId)) return { listedUntil: since };
  const size = pageSize || DEFAULT_PAGE_SIZE;
  const window = { state, workspaceId, since, minAgeSeconds };
  const { reservations, until } = await listReservations(database, window, { position, limit: size + 1 });
  const { page, last } = cutPage(reservations, size);
  return {
    reservations: page.map((each) => ({ ...each, state: RESERVATION_STATES[each.state] })),
    nextPageToken: turnPageTokens.format(last && { ...last, at: last.changedAt }),
    listedUntil: last?.changedAt ?? until,
  };
}
