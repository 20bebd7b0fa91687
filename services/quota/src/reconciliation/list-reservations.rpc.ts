import type { MessageInitShape } from "@bufbuild/protobuf";
import { RESERVATION_STATES, reservationStateFromProto } from "@parley/rpc/outcomes";
import type { ListReservationsRequest, ListReservationsResponseSchema } from "@parley/rpc/quota";
import { cutPage, type Database, invalidArgument, isUtcTime, isWorkspaceId, turnPageTokens } from "@parley/service-kit";
import { listReservations } from "./reservations.store.ts";

const DEFAULT_PAGE_SIZE = 500;
const MAX_PAGE_SIZE = 1_000;
const MAX_MIN_AGE_SECONDS = 86_400;

export async function handleListReservations(
  database: Database,
  request: ListReservationsRequest,
): Promise<MessageInitShape<typeof ListReservationsResponseSchema>> {
  const { since, minAgeSeconds, pageSize, workspaceId } = request;
  const state = reservationStateFromProto(request.state);
  if (state !== "held" && state !== "done") throw invalidArgument("state must be HELD or DONE");
  if (since !== "" && !isUtcTime(since)) throw invalidArgument("since must be a time in UTC like 2026-11-22T18:50:00Z");
  if (minAgeSeconds < 0 || minAgeSeconds > MAX_MIN_AGE_SECONDS)
    throw invalidArgument(`min_age_seconds must be from 0 to ${MAX_MIN_AGE_SECONDS}`);
  if (pageSize < 0 || pageSize > MAX_PAGE_SIZE) throw invalidArgument(`page_size must be from 0 to ${MAX_PAGE_SIZE}`);
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
