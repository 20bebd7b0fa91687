import type { Database } from "@parley/service-kit";

const RENEW_EDGE = `
  INSERT INTO conversation.edges (edge_id, expires_at) VALUES ($1, now() + make_interval(secs => $2))
  ON CONFLICT (edge_id) DO UPDATE SET expires_at = excluded.expires_at`;

/** Renews the lease of one edge process for `leaseSeconds` from now. */
export async function renewEdge(database: Database, edgeId: string, leaseSeconds: number): Promise<void> {
  await database.query({ name: "renew_edge", text: RENEW_EDGE, values: [edgeId, leaseSeconds] });
}

/** Deletes leases that lapsed more than an hour ago: their edges are gone and the edges' turns are closed. */
export async function deleteLapsedLeases(database: Database): Promise<void> {
  await database.query("DELETE FROM conversation.edges WHERE expires_at < now() - interval '1 hour'");
}
