import pg from "pg";
import type { Logger } from "../process/logger.ts";
import type { Migration } from "./migrate-options.ts";
import { SHARD_NUMBER, type Shard } from "./shards.ts";

const CACHE_MS = 1_000;

export type RequiredSchema = { schema: string; migrations: readonly Migration[] };

/**
 * Returns a function that reports whether the schema has the newest migration that this version knows: on at least one shard, and on every shard
 * that responds and has its number. Once true, the result stays true even if the database becomes unavailable: every replica shares that outage, and without any ready
 * replica, clients would get refused connections instead of 503.
 */
export function createReadinessProbe(
  shards: readonly Shard[],
  required: RequiredSchema,
  log: Logger,
): () => Promise<boolean> {
  const newest = required.migrations.at(-1)?.name;
  const statement = `
    SELECT ${SHARD_NUMBER} AS shard, EXISTS (
      SELECT FROM ${pg.escapeIdentifier(required.schema)}.migrations WHERE name = $1
    ) AS "isMigrated"`;
  let hasSucceeded = false;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let latestCheck: Promise<boolean> = Promise.resolve(false);

  /** Returns undefined if the shard does not respond. */
  const checkShard = async ({ number, database }: Shard): Promise<boolean | undefined> => {
    try {
      const { rows } = await database.query<{ shard: number; isMigrated: boolean }>(statement, [newest]);
      const { shard = Number.NaN, isMigrated = false } = rows[0] ?? {};
      if (shard !== number) log.error({ shard: number, found: shard }, "database is another shard, not ready");
      if (!isMigrated)
        log.warn({ schema: required.schema, shard: number, migration: newest }, "migration missing, not ready");
      return shard === number && isMigrated;
    } catch (error) {
      log.warn({ shard: number, error }, "readiness check failed");
      return undefined;
    }
  };
  const check = async () => {
    const results = await Promise.all(shards.map(checkShard));
    hasSucceeded = results.includes(true) && !results.includes(false);
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
