import type pg from "pg";
import { type MigrateResult, migrate, numberShard } from "./migrate.ts";
import type { MigrateOptions } from "./migrate-options.ts";
import { findMigrationProblems } from "./preflight.ts";
import { urlOfShard } from "./shards.ts";

const SHARDS_AT_ONCE = 8;

export type ShardTarget = { number: number; options: MigrateOptions };

/** Called for each shard when it ends, in any order. */
export type ShardReport = {
  onMigrated(number: number, result: MigrateResult): void;
  onFailed(number: number, error: unknown): void;
};

/** Returns the options of each shard. `options.url` leads to the sharded database of the router. */
export function listShardTargets(options: MigrateOptions, shardCount: number): ShardTarget[] {
  const database = decodeURIComponent(new URL(options.url).pathname.slice(1));
  return Array.from({ length: shardCount }, (_, number) => ({
    number,
    options: { ...options, url: urlOfShard(options.url, number), shard: { number, database } },
  }));
}

/** Returns the problems of all shards like findMigrationProblems, and a problem for each shard whose collation is not the first shard's. */
export async function findProblemsOfShards(targets: readonly ShardTarget[]): Promise<string[]> {
  const numbersByProblem = new Map<string, number[]>();
  const collations = new Map<number, string>();
  await onSeveral(targets, async ({ number, options }) => {
    const problems = await findMigrationProblems(options, async (client) => {
      collations.set(number, await readCollation(client));
    });
    for (const problem of problems) numbersByProblem.set(problem, [...(numbersByProblem.get(problem) ?? []), number]);
  });
  const problems = [...numbersByProblem].map(([problem, numbers]) =>
    numbers.length === targets.length ? problem : `${nameShards(numbers)}: ${problem}`,
  );
  return [...problems, ...findCollationProblems(collations)];
}

/**
 * Numbers all shards, then migrates them, several at once. Continues after a failure, and returns the numbers of the failed shards. Migrates no
 * shard unless all have their number: the migrations create the services' roles, and a router could then open a connection to a shard that has no
 * number yet.
 */
export async function migrateShards(targets: readonly ShardTarget[], report: ShardReport): Promise<number[]> {
  const failed: number[] = [];
  const runOnAll = (work: (target: ShardTarget) => Promise<void>) =>
    onSeveral(targets, async (target) => {
      try {
        await work(target);
      } catch (error) {
        failed.push(target.number);
        report.onFailed(target.number, error);
      }
    });
  await runOnAll(({ options, number }) => numberShard(options, number));
  if (failed.length === 0)
    await runOnAll(async ({ options, number }) => report.onMigrated(number, await migrate(options)));
  return failed;
}

/** Names shards, such as "shard 3" or "shards 3, 5". */
export function nameShards(numbers: readonly number[]): string {
  return `shard${numbers.length === 1 ? "" : "s"} ${numbers.toSorted((a, b) => a - b).join(", ")}`;
}

async function onSeveral<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const runNext = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: SHARDS_AT_ONCE }, runNext));
}

/** Returns a problem for each other collation than the first shard's, because the lists of several shards are merged in the order of one of them. */
function findCollationProblems(collations: ReadonlyMap<number, string>): string[] {
  const [[first, expected] = [0, ""], ...others] = [...collations].sort(([a], [b]) => a - b);
  const numbersByCollation = Map.groupBy(others, ([, collation]) => collation);
  numbersByCollation.delete(expected);
  return [...numbersByCollation].map(
    ([collation, entries]) =>
      `${nameShards(entries.map(([number]) => number))}: the collation is ${collation}, and that of shard ${first} is ${expected}: create the databases of all shards with the same collation`,
  );
}

/** Returns the provider and the locale by which the database sorts. The column's name depends on PostgreSQL's version. */
async function readCollation(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ collation: string }>(
    `SELECT concat_ws(' ', CASE d ->> 'datlocprovider' WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' ELSE 'builtin' END,
                      coalesce(d ->> 'datlocale', d ->> 'daticulocale', d ->> 'datcollate'), d ->> 'daticurules') AS collation
     FROM (SELECT to_jsonb(pg_database) AS d FROM pg_database WHERE datname = current_database()) AS settings`,
  );
  return rows[0]?.collation ?? "";
}
