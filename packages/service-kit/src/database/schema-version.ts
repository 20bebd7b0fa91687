import type { Knex } from "knex";
import pg from "pg";
import manifest from "../../package.json" with { type: "json" };
import { compareVersions } from "./compare-versions.ts";
import type { MigrateOptions, Migration } from "./migrate-options.ts";

export const MIGRATIONS_TABLE = "migrations";

/**
 * Returns the newest applied migration that this version does not know, if there is one. Throws if this version does not run on the schema.
 * Must run before knex's latest(), which refuses every unknown migration.
 */
export async function findNewerMigration(
  client: pg.Client,
  { schema, migrations }: MigrateOptions,
): Promise<string | undefined> {
  const completed = await listCompletedMigrations(client, schema);
  const known = new Set(migrations.map(({ name }) => name));
  const newest = completed.findLast((name) => !known.has(name));
  if (newest === undefined) return undefined;
  const missing = migrations.filter(({ name }) => !completed.includes(name));
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name).join(", ");
    throw new Error(
      `schema has ${newest} of another version and lacks ${names} of this one: install the version that has both`,
    );
  }
  const oldest = await readOldestVersion(client, schema);
  if (oldest !== undefined && compareVersions(manifest.version, oldest) < 0) {
    throw new Error(
      `schema (${newest}) is newer than this version and needs version ${oldest} or newer; this is ${manifest.version}`,
    );
  }
  return newest;
}

/** Returns the names in the order in which the migrations were applied. */
async function listCompletedMigrations(client: pg.Client, schema: string): Promise<string[]> {
  const table = `${pg.escapeIdentifier(schema)}.${MIGRATIONS_TABLE}`;
  const { rows: tables } = await client.query<{ exists: boolean }>("SELECT to_regclass($1) IS NOT NULL AS exists", [
    table,
  ]);
  if (!tables[0]?.exists) return [];
  return (await client.query<{ name: string }>(`SELECT name FROM ${table} ORDER BY id`)).rows.map(({ name }) => name);
}

/**
 * Returns a hook for knex to run before each migration, in the migration's transaction if it has one. The hook throws if the lock's
 * connection is lost. It stores the oldest version that runs on the schema in a comment on the migrations table; older versions read the
 * comment with readOldestVersion.
 */
export function createMigrationHook(
  assertLocked: () => void,
  { schema, migrations }: MigrateOptions,
  direction: "up" | "down",
) {
  return async (connection: Knex, [current]: unknown[]): Promise<void> => {
    assertLocked();
    const index = migrations.indexOf(current as Migration);
    if (migrations[index]?.oldestVersion === undefined) return;
    const applied = migrations.slice(0, direction === "up" ? index + 1 : index);
    const oldest = applied.findLast(({ oldestVersion }) => oldestVersion !== undefined)?.oldestVersion;
    const comment = oldest === undefined ? "NULL" : pg.escapeLiteral(`needs Parley ${oldest} or newer`);
    await connection.raw(`COMMENT ON TABLE ${pg.escapeIdentifier(schema)}.${MIGRATIONS_TABLE} IS ${comment}`);
  };
}

async function readOldestVersion(client: pg.Client, schema: string): Promise<string | undefined> {
  const { rows } = await client.query<{ comment: string | null }>(
    "SELECT obj_description($1::regclass, 'pg_class') AS comment",
    [`${schema}.${MIGRATIONS_TABLE}`],
  );
  return /^needs Parley (\S+) or newer$/.exec(rows[0]?.comment ?? "")?.[1];
}
