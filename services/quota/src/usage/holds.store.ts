import type { Database } from "@parley/service-kit";

const MAX_COUNT = 100_000;

// Uses the database's clock, which also wrote reserved_at.
const MEASURE_HOLDS = `
  SELECT (SELECT count(*) FROM (SELECT FROM quota.reservations WHERE state = 'held' LIMIT ${MAX_COUNT}) h) AS count,
         coalesce(
           (SELECT extract(epoch FROM now() - min(reserved_at)) FROM quota.reservations WHERE state = 'held'), 0
         )::float8 AS "oldestSeconds"`;

/** Returns the number of holds, at most 100,000, and the age of the oldest. */
export async function measureHolds(database: Database): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await database.query<{ count: number; oldestSeconds: number }>(MEASURE_HOLDS);
  return rows[0] ?? { count: 0, oldestSeconds: 0 };
}
