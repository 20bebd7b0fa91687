import type pg from "pg";

/** With 64 shards, all ids are below 2^53. */
export const IDS_PER_SHARD = 100_000_000_000_000;

// Without the setting parley.shard, `first` is NULL, and no row matches.
const LIST_STATEMENTS = `
  SELECT format('ALTER SEQUENCE %I.%I START WITH %s RESTART', schemaname, sequencename, first) AS statement
  FROM pg_sequences, (SELECT 1 + current_setting('parley.shard', true)::bigint * ${IDS_PER_SHARD} AS first) shard
  WHERE schemaname = $1 AND data_type = 'bigint'::regtype AND last_value IS NULL AND start_value <> first`;

/**
 * Lets the unused sequences of a schema start at the first id of the database's shard. So the shards' ids differ, and rows of several shards
 * can be listed together.
 */
export async function startSequencesOfShard(client: pg.Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(LIST_STATEMENTS, [schema]);
  for (const { statement } of rows) await client.query(statement);
}
