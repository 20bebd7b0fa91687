import { CliError } from "../errors.ts";
import { type Client, onPlace, type Place } from "./connect.ts";
import { SCHEMAS } from "./settings.ts";

export type Table = {
  /** Qualified and quoted. */
  name: string;
  /** Whether each row belongs to a workspace. */
  hasKey: boolean;
  hasPrimaryKey: boolean;
  /** Whether the primary key contains the workspace. */
  isKeyPrimary: boolean;
};

/** Lists the tables of Parley's schemas, without those of the migrations. */
export async function listTables(client: Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(
    `SELECT c.oid::regclass::text AS name,
            EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'workspace_id' AND NOT attisdropped) AS "hasKey",
            EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary) AS "hasPrimaryKey",
            EXISTS (SELECT FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
                    WHERE i.indrelid = c.oid AND i.indisprimary AND a.attname = 'workspace_id') AS "isKeyPrimary"
     FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
     WHERE c.relkind = 'r' AND n.nspname = ANY ($1) AND c.relname NOT IN ('migrations', 'migrations_lock') ORDER BY name`,
    [SCHEMAS],
  );
  return rows;
}

/** Returns why a database cannot be replicated. */
export async function findDatabaseProblems(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ limit: number; prepared: string[] }>(
    `SELECT datconnlimit AS limit,
            (SELECT coalesce(array_agg(gid), '{}') FROM pg_prepared_xacts WHERE database = datname) AS prepared
     FROM pg_database WHERE datname = current_database()`,
  );
  const { limit = -1, prepared = [] } = rows[0] ?? {};
  const tables = (await listTables(client)).flatMap(({ name, hasPrimaryKey }) => (hasPrimaryKey ? [] : [name]));
  return [
    ...(tables.length === 0 ? [] : [`tables without a primary key cannot be replicated: ${tables.join(", ")}`]),
    ...(limit === -1 ? [] : [`the database has CONNECTION LIMIT ${limit}: set it to -1`]),
    ...(prepared.length === 0 ? [] : [describePrepared(prepared)]),
  ];
}

/** A prepared transaction could commit after the fence, and PostgreSQL does not rename a database that has one. */
export const describePrepared = (ids: readonly string[]) =>
  `prepared transactions are open: ${ids.join(", ")}: commit them or roll them back`;

/** Throws if a database has other migrations than its copy. */
export async function assertSchemasAreEqual(source: Place, copy: Place): Promise<void> {
  const [expected, copied] = [await onPlace(source, listMigrations), await onPlace(copy, listMigrations)];
  if (expected !== copied)
    throw new CliError(
      `${source.database} has the migrations ${expected}, and ${copy.database} has ${copied}: run parley migrate first`,
    );
}

async function listMigrations(client: Client): Promise<string> {
  const { rows } = await client.query<{ names: string }>(
    `SELECT string_agg(name, ', ' ORDER BY name) AS names FROM (
       ${SCHEMAS.map((schema) => `SELECT '${schema} ' || name AS name FROM ${schema}.migrations`).join(" UNION ALL ")}
     ) AS applied`,
  );
  return rows[0]?.names ?? "";
}

/** Throws if a role may use the schemas of a database, and not those of its copy: migrations give access to one role of each service. */
export async function assertRolesKeepAccess(source: Place, copy: Place): Promise<void> {
  const roles = await onPlace(source, listRoles);
  const copied = await onPlace(copy, listRoles);
  const missing = roles.filter((role) => !copied.includes(role));
  if (missing.length > 0)
    throw new CliError(
      `${missing.join(", ")} may use schemas of ${source.database}, and not of the copy: give the same privileges in ${copy.database} on ${copy.server.name}, and run this command again`,
    );
}

/** Lists the roles that may use the schemas, without the schemas' owners. */
async function listRoles(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ role: string }>(
    `SELECT DISTINCT rolname::text AS role
     FROM pg_namespace CROSS JOIN aclexplode(nspacl) AS privilege JOIN pg_roles AS r ON r.oid = privilege.grantee
     WHERE nspname = ANY ($1) AND r.oid <> nspowner ORDER BY role`,
    [SCHEMAS],
  );
  return rows.map(({ role }) => role);
}

/** Copies the values of the sequences, which logical replication leaves out. */
export async function copySequences(source: Client, target: Client): Promise<void> {
  const { rows } = await source.query<{ name: string }>(
    "SELECT format('%I.%I', schemaname, sequencename) AS name FROM pg_sequences WHERE schemaname = ANY ($1)",
    [SCHEMAS],
  );
  for (const { name } of rows) {
    const { rows: values } = await source.query<{ last: string; called: boolean }>(
      `SELECT last_value::text AS last, is_called AS called FROM ${name}`,
    );
    await target.query("SELECT setval($1::regclass, $2::bigint, $3)", [name, values[0]?.last, values[0]?.called]);
  }
}
