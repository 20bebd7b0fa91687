import pg from "pg";

/**
 * Throws if the database is another shard than `number`, or if it has no number and the administrator may not set it. PostgreSQL lets only
 * superusers and roles with SET on the parameter store a setting whose name it does not know.
 */
export async function assertShardNumber(client: pg.Client, number: number): Promise<void> {
  const { database, stored, maySet } = await readShardNumber(client);
  if (stored !== null && stored !== String(number)) {
    throw new Error(
      `database ${database} has parley.shard ${stored}, and the router's alias ${client.database} leads to it: correct the router's configuration`,
    );
  }
  if (stored !== null || maySet) return;
  throw new Error(
    `${client.user} may not set parley.shard of database ${database}; run as a superuser: ${numberStatement(database, number)}`,
  );
}

/**
 * Sets parley.shard of the database unless it has it already, and in this session. A session that a pooler opened earlier lacks the setting.
 * Throws like assertShardNumber.
 */
export async function setShardNumber(client: pg.Client, number: number): Promise<void> {
  await assertShardNumber(client, number);
  const { database, stored } = await readShardNumber(client);
  if (stored === null) await client.query(numberStatement(database, number));
  await client.query("SELECT set_config('parley.shard', $1, false)", [String(number)]);
}

function numberStatement(database: string, number: number): string {
  return `ALTER DATABASE ${pg.escapeIdentifier(database)} SET parley.shard = '${number}';`;
}

type ShardNumber = { database: string; stored: string | null; maySet: boolean };

/** Reads the database's own setting instead of the session's, which may be older. */
async function readShardNumber(client: pg.Client): Promise<ShardNumber> {
  const { rows } = await client.query<ShardNumber>(
    `SELECT datname::text AS database,
            (SELECT split_part(setting, '=', 2) FROM pg_db_role_setting, unnest(setconfig) AS setting
             WHERE setdatabase = d.oid AND setrole = 0 AND starts_with(setting, 'parley.shard=')) AS stored,
            pg_has_role(datdba, 'USAGE') AND has_parameter_privilege('parley.shard', 'SET') AS "maySet"
     FROM pg_database AS d WHERE datname = current_database()`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error("pg_database has no row for the current database");
  return row;
}
