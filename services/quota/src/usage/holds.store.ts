import type { Database } from "@parley/service-kit";

const MAX_COUNT = 100_000;

// `reserved_at >= oldest.at` speeds up the count: during pg_dump or another long snapshot, the index keeps entries of settled holds. Most of these
// entries are older than the oldest current hold.
const MEASURE_HOLDS = `
  WITH oldest AS MATERIALIZED (SELECT min(reserved_at) AS at FROM quota.reservations WHERE state = 'held')
  SELECT (
           SELECT count(*) FROM (
             SELECT FROM quota.reservations, oldest WHERE state = 'held' AND reserved_at >= oldest.at LIMIT ${MAX_COUNT}
           ) h
         ) AS count,
         coalesce(extract(epoch FROM now() - oldest.at), 0)::float8 AS "oldestSeconds"
  FROM oldest`;

/** Returns the number of holds, at most 100,000, and the age of the oldest hold. */
export async function measureHolds(database: Database): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await database.query<{ count: number; oldestSeconds: number }>(MEASURE_HOLDS);
  return rows[0] ?? { count: 0, oldestSeconds: 0 };
}
