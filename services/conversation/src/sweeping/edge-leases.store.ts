import type { Database } from "@parley/service-kit";

const RENEW_EDGE = `
  INSERT INTO conversation.edges (edge_id, expires_at) VALUES ($1, now() + make_interval(secs => $2))
  ON CONFLICT (edge_id) DO UPDATE SET expires_at = excluded.expires_at`;

/** Renews the lease of one edge process, for so long from now. */
export async function renewEdge(database: Database, edgeId: string, leaseSeconds: number): Promise<void> {
  await database.query({ name: "renew_edge", text: RENEW_EDGE, values: [edgeId, leaseSeconds] });
}

/** Forgets edges whose lease lapsed an hour ago: their processes are gone and their turns were closed. */
export async function forgetEdges(database: Database): Promise<void> {
  await database.query("DELETE FROM conversation.edges WHERE expires_at < now() - interval '1 hour'");
}
