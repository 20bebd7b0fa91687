import type { Database } from "@parley/service-kit";

/** An edge process, and the address and token with which other edges call it. */
export type Edge = {
  edgeId: string;
  /** Empty if other edges cannot reach this one. */
  address: string;
  token: string;
};

/** Three times the longest renewal interval (100 s), so that an edge receives each closed turn even if a response is lost. */
const CLOSED_TURNS_SECONDS = 5 * 60;

const RENEW_EDGE = `
  WITH renewed AS (
    INSERT INTO conversation.edges (edge_id, expires_at, address, token)
    VALUES ($1, now() + make_interval(secs => $2), nullif($3, ''), nullif($4, ''))
    ON CONFLICT (edge_id) DO UPDATE
    SET expires_at = excluded.expires_at, address = excluded.address, token = excluded.token
  )
  SELECT workspace_id AS "workspaceId", turn_id AS "turnId"
  FROM conversation.closed_turns
  WHERE edge_id = $1 AND closed_at > now() - make_interval(secs => $5)`;

/** Renews an edge's lease for `leaseSeconds` from now. Returns the edge's turns that other processes closed in the last 5 minutes. */
export async function renewEdge(
  database: Database,
  { edgeId, address, token }: Edge,
  leaseSeconds: number,
): Promise<{ workspaceId: string; turnId: string }[]> {
  const values = [edgeId, leaseSeconds, address, token, CLOSED_TURNS_SECONDS];
  const { rows } = await database.query<{ workspaceId: string; turnId: string }>({
    name: "renew_edge",
    text: RENEW_EDGE,
    values,
  });
  return rows;
}

/**
 * Deletes leases that lapsed more than an hour ago, and records of turns that were closed more than an hour ago. A sweep treats a missing lease
 * as lapsed.
 */
export async function deleteOldEdgeRows(database: Database): Promise<void> {
  await database.query("DELETE FROM conversation.edges WHERE expires_at < now() - interval '1 hour'");
  await database.query("DELETE FROM conversation.closed_turns WHERE closed_at < now() - interval '1 hour'");
}
