import pg from "pg";
import type { Logger } from "../process/logger.ts";
import type { Database } from "./database.ts";
import type { Migration } from "./migrate.ts";

const CACHE_MS = 1_000;

export type RequiredSchema = { schema: string; migrations: readonly Migration[] };

/**
 * Returns a function that reports whether the schema has the newest migration that this version knows. Once true, the result stays true
 * even if the database becomes unavailable: every replica shares that outage, and without any ready replica, clients would get refused
 * connections instead of 503.
 */
export function createReadinessProbe(
  database: Database,
  required: RequiredSchema,
  log: Logger,
): () => Promise<boolean> {
  const newest = required.migrations.at(-1)?.name;
  const statement = `SELECT FROM ${pg.escapeIdentifier(required.schema)}.migrations WHERE name = $1`;
  let hasSucceeded = false;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let latestCheck: Promise<boolean> = Promise.resolve(false);

  const check = async () => {
    try {
      hasSucceeded = ((await database.query(statement, [newest])).rowCount ?? 0) > 0;
      if (!hasSucceeded) log.warn({ schema: required.schema, migration: newest }, "migration missing, not ready");
    } catch (error) {
      log.warn({ error }, "readiness check failed");
    }
    return hasSucceeded;
  };
  return async () => {
    const nowMs = performance.now();
    if (hasSucceeded || nowMs - checkedAtMs <= CACHE_MS) return hasSucceeded || latestCheck;
    checkedAtMs = nowMs;
    latestCheck = check();
    return latestCheck;
  };
}
