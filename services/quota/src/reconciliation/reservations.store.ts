import type { ReservationStateName } from "@parley/rpc/outcomes";
import { type Database, NIL_UUID, type TurnPosition } from "@parley/service-kit";

export type ReservationKey = { workspaceId: string; turnId: string };

/**
 * A turn in the usage accounting. `changedAt` is when the turn was held or, if it is settled, when its outcome last changed: RFC 3339 in UTC
 * with microseconds.
 */
export type Reservation = ReservationKey & {
  state: ReservationStateName;
  /** The UTC month that the turn belongs to, "YYYY-MM". */
  month: string;
  changedAt: string;
  /** Seconds since `changedAt`. */
  ageSeconds: number;
};

export type ReservationWindow = {
  state: "held" | "done";
  /** Empty for all workspaces. */
  workspaceId: string;
  /** The window's start, included; RFC 3339 in UTC. Empty for no start. */
  since: string;
  /** The window's end, in seconds before now. */
  minAgeSeconds: number;
};

const rfc3339Sql = (time: string) => `to_char((${time}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

// The row comparison seeks to the page's start in the index reservations_held or reservations_settled. The window's end is a parameter, so that
// the listed window ends exactly at the returned `until`.
const listSql = (time: "reserved_at" | "settled_at", state: "held" | "done") => `
  SELECT workspace_id AS "workspaceId", turn_id AS "turnId", state, to_char(month, 'YYYY-MM') AS month, ${rfc3339Sql(time)} AS "changedAt",
         extract(epoch FROM now() - ${time})::float8 AS "ageSeconds"
  FROM quota.reservations
  WHERE state = '${state}' AND ${time} < $1::timestamptz AND ($2 = '' OR workspace_id = $2)
    AND (${time}, workspace_id, turn_id) > ($3::timestamptz, $4, $5::uuid)
  ORDER BY ${time}, workspace_id, turn_id
  LIMIT $6`;

const LIST = { held: listSql("reserved_at", "held"), done: listSql("settled_at", "done") };

const FIRST_KEY = { workspaceId: "", turnId: NIL_UUID };

/** Returns a page of the window's reservations after `position`, oldest first, and the window's end by the database's clock. */
export async function listReservations(
  database: Database,
  { state, workspaceId, since, minAgeSeconds }: ReservationWindow,
  { position, limit }: { position: TurnPosition | undefined; limit: number },
): Promise<{ reservations: Reservation[]; until: string }> {
  const { rows: ends } = await database.query<{ until: string }>(
    `SELECT ${rfc3339Sql("now() - make_interval(secs => $1)")} AS until`,
    [minAgeSeconds],
  );
  const until = ends[0]?.until ?? "";
  const after = position ?? { at: since || "-infinity", ...FIRST_KEY };
  const { rows } = await database.query<Reservation>({
    name: `list_${state}_reservations`,
    text: LIST[state],
    values: [until, workspaceId, after.at, after.workspaceId, after.turnId, limit],
  });
  return { reservations: rows, until };
}

const GET_RESERVATIONS = `
  SELECT r.workspace_id AS "workspaceId", r.turn_id AS "turnId", r.state, to_char(r.month, 'YYYY-MM') AS month,
         ${rfc3339Sql("changed.at")} AS "changedAt", extract(epoch FROM now() - changed.at)::float8 AS "ageSeconds"
  FROM unnest($1::text[], $2::uuid[]) AS i (workspace_id, turn_id)
  JOIN quota.reservations r ON r.workspace_id = i.workspace_id AND r.turn_id = i.turn_id
  CROSS JOIN LATERAL (SELECT CASE r.state WHEN 'held' THEN r.reserved_at ELSE r.settled_at END AS at) changed`;

/** Leaves out turns without a reservation. */
export async function findReservations(database: Database, turns: readonly ReservationKey[]): Promise<Reservation[]> {
  const { rows } = await database.query<Reservation>({
    name: "get_reservations",
    text: GET_RESERVATIONS,
    values: [turns.map((turn) => turn.workspaceId), turns.map((turn) => turn.turnId)],
  });
  return rows;
}
