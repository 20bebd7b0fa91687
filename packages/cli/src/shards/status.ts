import type { Result } from "../output/result.ts";
import { formatTable } from "../output/table.ts";
import { type Client, messageOf, withClient } from "./connect.ts";
import { databaseOf, SCHEMAS, type Settings, urlOn } from "./settings.ts";
import { describeMissing, type FoundDatabase, locateShards, type Survey, surveyServers } from "./survey.ts";

type ShardStatus = {
  size_bytes: number;
  turns_per_second: number;
  /** Of the standby that is furthest behind; null without standbys. */
  replication_lag_bytes: number | null;
  /** The newest migration of each schema, in the order of SCHEMAS; null if there is none. */
  migrations: (string | null)[];
  /** The last settlement of a turn; null if there is none. */
  settled_at: string | null;
  /** The turns that quota has not settled yet, up to 1,000. */
  unsettled_turns: number;
  /** The last success of a background task with a lease, such as the reconciliation. */
  task_succeeded_at: string | null;
};

type Row = { shard: number; server: string | null; moving_to: string | null } & (ShardStatus | { error: string });

/** Reports each shard. A shard that is not available is a row with its error, and then the exit code is 1. */
export async function reportStatus(settings: Settings): Promise<Result> {
  const survey = await surveyServers(settings);
  const located = locateShards(settings, survey);
  const rows = await Promise.all(
    Array.from({ length: settings.shardCount }, (_, shard) =>
      describeShard(settings, survey, shard, located.get(shard)),
    ),
  );
  const titles = ["shard", "server", "size", "turns/s", "lag", "schemas", "last settled", "state"];
  // In the table, long errors would be truncated.
  const errors = rows.flatMap((row) => ("error" in row ? [`shard ${row.shard}: ${row.error}\n`] : []));
  return {
    json: rows,
    text: formatTable(titles, rows.map(formatRow), "No shards.") + errors.join(""),
    exitCode: errors.length === 0 ? 0 : 1,
  };
}

async function describeShard(
  settings: Settings,
  survey: Survey,
  shard: number,
  found: FoundDatabase | undefined,
): Promise<Row> {
  const name = databaseOf(settings, shard);
  const incoming = survey.databases.find((each) => each.name === `${name}_incoming`);
  const place = { shard, server: found?.server.name ?? null, moving_to: incoming?.server.name ?? null };
  if (found === undefined) return { ...place, error: describeMissing(name, survey) };
  try {
    return { ...place, ...(await withClient(urlOn(found.server, name), readStatus)) };
  } catch (error) {
    return { ...place, error: messageOf(error) };
  }
}

async function readStatus(client: Client): Promise<ShardStatus> {
  const { rows } = await client.query<{ size: string; lag: string | null; schemas: string[] }>(
    `SELECT pg_database_size(current_database()) AS size,
            (SELECT max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)) FROM pg_stat_replication
             WHERE pid NOT IN (SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL)) AS lag,
            (SELECT coalesce(array_agg(nspname::text), '{}') FROM pg_namespace
             WHERE to_regclass(format('%I.migrations', nspname)) IS NOT NULL) AS schemas`,
  );
  const { size = "0", lag = null, schemas = [] } = rows[0] ?? {};
  const status = { size_bytes: Number(size), replication_lag_bytes: lag === null ? null : Number(lag) };
  const migrations = await readMigrations(client, schemas);
  if (migrations.includes(null))
    return {
      ...status,
      migrations,
      turns_per_second: 0,
      settled_at: null,
      unsettled_turns: 0,
      task_succeeded_at: null,
    };
  const { rows: activity } = await client.query<{
    turns: number;
    settled: Date | null;
    unsettled: number;
    task: Date | null;
  }>(
    `SELECT (SELECT count(*) FROM conversation.turns WHERE status = 'done' AND closed_at > now() - interval '1 minute')::integer AS turns,
            (SELECT max(settled_at) FROM quota.reservations WHERE state = 'done') AS settled,
            (SELECT count(*) FROM (SELECT FROM conversation.outbox LIMIT 1000) AS waiting)::integer AS unsettled,
            (SELECT max(succeeded_at) FROM conversation.task_leases) AS task`,
  );
  const { turns = 0, settled = null, unsettled = 0, task = null } = activity[0] ?? {};
  return {
    ...status,
    migrations,
    turns_per_second: Math.round((turns / 60) * 100) / 100,
    settled_at: settled?.toISOString() ?? null,
    unsettled_turns: unsettled,
    task_succeeded_at: task?.toISOString() ?? null,
  };
}

/** Returns the newest migration of each schema. */
export async function readMigrations(client: Client, present: readonly string[]): Promise<(string | null)[]> {
  const newest: (string | null)[] = [];
  for (const schema of SCHEMAS) {
    if (!present.includes(schema)) {
      newest.push(null);
      continue;
    }
    const { rows } = await client.query<{ name: string }>(
      `SELECT name FROM ${schema}.migrations ORDER BY id DESC LIMIT 1`,
    );
    newest.push(rows[0]?.name ?? null);
  }
  return newest;
}

function formatRow(row: Row) {
  const moving = row.moving_to === null ? "" : `moving to ${row.moving_to}`;
  if ("error" in row) return [row.shard, row.server ?? "–", "–", "–", "–", "–", "–", "away"];
  return [
    row.shard,
    row.server ?? "–",
    formatBytes(row.size_bytes),
    row.turns_per_second,
    row.replication_lag_bytes === null ? "none" : formatBytes(row.replication_lag_bytes),
    [...new Set(row.migrations.map((name) => name ?? "missing"))].join(", "),
    row.settled_at ?? "never",
    moving || "ok",
  ];
}

/** Formats a size in binary units, such as `12 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = bytes;
  let unit = 0;
  for (; size >= 1_024 && unit < units.length - 1; unit++) size /= 1_024;
  return `${Math.round(size)} ${units[unit]}`;
}
