import type { Knex } from "knex";
import pg from "pg";
import manifest from "../../package.json" with { type: "json" };
import { readDatabaseName } from "./database-name.ts";
import { startSequencesOfShard } from "./identity-start.ts";
import type { MigrateOptions, Migration } from "./migrate-options.ts";
import { assertHasOwnSession, connectionConfig, withLock } from "./migration-lock.ts";
import type { RoleOwner } from "./role-owner.ts";
import { createMigrationHook, findNewerMigration, MIGRATIONS_TABLE } from "./schema-version.ts";
import { createScramVerifier } from "./scram-verifier.ts";
import { assertMayDefineRole, grantAccess, listRoleChecks, prepareRole, withRemedy } from "./service-role.ts";
import { assertShardNumber, setShardNumber } from "./shard-number.ts";

export type { Knex };

export type MigrateResult = {
  /** The names of the applied migrations. */
  applied: string[];
  /** The schema's newest migration, if a newer, compatible version has applied it. `applied` is then empty. */
  newerMigration?: string;
};

/** The audit log. Not every schema has this table. */
const AUDIT_LOG_TABLE = "audit_log";
const OLDEST_POSTGRES = 15;
/** Short, because new traffic queues behind a migration that waits for a lock. */
const LOCK_TIMEOUT = "2s";

/**
 * Migrates one service's schema to this version: creates the role and the schema, then applies the missing migrations. Concurrent calls are
 * safe. If the schema is newer than this version, sets the role's password and timeouts, applies nothing, and throws if this version does
 * not run on that schema.
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const { schema, role, rolePassword, roleTimeouts, appendOnlyTables } = options;
  const scramVerifier = rolePassword === undefined ? undefined : createScramVerifier(rolePassword);
  return withLock(options, async (client, assertLocked) => {
    if (options.shard !== undefined) await setShardNumber(client, options.shard.number);
    await prepareRole(client, role, scramVerifier, roleTimeouts, ownerOf(client, options));
    await prepareSchema(client, schema);
    const newerMigration = await findNewerMigration(client, options);
    if (newerMigration !== undefined) return { applied: [], newerMigration };
    return withKnex(options, async (migrator) => {
      const [, applied] = (await migrator.latest({ beforeEach: createMigrationHook(assertLocked, options, "up") })) as [
        number,
        string[],
      ];
      await startSequencesOfShard(client, schema);
      await grantAccess(client, schema, role, [...(appendOnlyTables ?? []), AUDIT_LOG_TABLE]);
      await recordMigrations(client, schema, applied);
      return { applied };
    });
  });
}

/** Sets parley.shard of a shard's database, unless it has it already. Concurrent calls are safe. */
export async function numberShard(options: MigrateOptions, number: number): Promise<void> {
  await withLock(options, (client) => setShardNumber(client, number));
}

/**
 * Returns the checks that must pass before migrate() is called with the same options, on a connection from createClient. Each throws if
 * it finds a problem. None changes anything.
 */
export function listMigrationChecks(client: pg.Client, options: MigrateOptions): (() => Promise<unknown>)[] {
  const { schema, role, rolePassword, roleTimeouts, shard } = options;
  return [
    () => assertServerIsUsable(client),
    async () => {
      if (shard !== undefined) await assertShardNumber(client, shard.number);
    },
    () => assertHasOwnSession(client, options),
    () => assertMayCreateSchema(client, schema),
    ...listRoleChecks(client, role, rolePassword !== undefined, roleTimeouts, ownerOf(client, options)),
    async () => {
      if (rolePassword !== undefined) await assertMayDefineRole(client, role);
    },
    () => findNewerMigration(client, options),
  ];
}

function ownerOf(client: pg.Client, { installation, shard }: MigrateOptions): RoleOwner | undefined {
  if (installation === undefined) return undefined;
  if (shard !== undefined) return { database: shard.database, installation, isSharded: true };
  return { database: client.database ?? "", installation };
}

/** Reverts the newest `steps` migrations. Returns their names. */
export async function revertMigrations(options: MigrateOptions, steps: number): Promise<string[]> {
  return withLock(options, (_client, assertLocked) =>
    withKnex(options, async (migrator) => {
      const reverted: string[] = [];
      for (let step = 0; step < steps; step++) {
        const [, names] = (await migrator.down({ beforeEach: createMigrationHook(assertLocked, options, "down") })) as [
          number,
          string[],
        ];
        reverted.push(...names);
      }
      return reverted;
    }),
  );
}

async function assertServerIsUsable(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: string; is_old: boolean; is_read_only: boolean }>(
    `SELECT current_setting('server_version') AS version,
            current_setting('server_version_num')::int < ${OLDEST_POSTGRES * 10_000} AS is_old,
            current_setting('transaction_read_only')::boolean AS is_read_only`,
  );
  const [{ version, is_old, is_read_only } = { version: "", is_old: false, is_read_only: false }] = rows;
  if (is_old) throw new Error(`PostgreSQL ${version} is too old: Parley needs PostgreSQL ${OLDEST_POSTGRES} or newer`);
  if (is_read_only)
    throw new Error(
      `${client.host}:${client.port} is read-only: name the primary server (DATABASE_URL; chart: database.host, or migrations.database.host if it is set)`,
    );
}

async function assertMayCreateSchema(client: pg.Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ may_create: boolean }>(
    "SELECT has_database_privilege(current_database(), 'CREATE') AS may_create",
  );
  if (rows[0]?.may_create || (await schemaExists(client, schema))) return;
  const database = await readDatabaseName(client);
  throw new Error(`permission denied for database ${database}; run ${buildSchemaRemedy(client, database)}`);
}

async function schemaExists(client: pg.Client, schema: string): Promise<boolean> {
  return (await client.query("SELECT FROM pg_namespace WHERE nspname = $1", [schema])).rowCount !== 0;
}

function buildSchemaRemedy({ user = "" }: pg.Client, database: string): string {
  return `as the database's owner: GRANT CREATE ON DATABASE ${pg.escapeIdentifier(database)} TO ${pg.escapeIdentifier(user)};`;
}

async function prepareSchema(client: pg.Client, schema: string): Promise<void> {
  // Checked first, because CREATE SCHEMA IF NOT EXISTS needs the privilege even if the schema exists.
  if (!(await schemaExists(client, schema))) {
    await withRemedy(buildSchemaRemedy(client, await readDatabaseName(client)), async () => {
      await client.query(`CREATE SCHEMA ${pg.escapeIdentifier(schema)}`);
    });
  }
  // A killed run of migrate() leaves knex's lock row set. No other run can hold it, because we hold the advisory lock.
  const { rows } = await client.query("SELECT to_regclass($1) AS lock", [`${schema}.${MIGRATIONS_TABLE}_lock`]);
  if (rows[0]?.lock)
    await client.query(`UPDATE ${pg.escapeIdentifier(schema)}.${MIGRATIONS_TABLE}_lock SET is_locked = 0`);
}

/** Adds an entry to the audit log with the names of the applied migrations and the release that applied them. */
async function recordMigrations(client: pg.Client, schema: string, applied: readonly string[]): Promise<void> {
  const [oldest, newest] = [applied[0], applied.at(-1)];
  if (oldest === undefined) return;
  const { rows } = await client.query("SELECT to_regclass($1) AS log", [`${schema}.${AUDIT_LOG_TABLE}`]);
  if (rows[0]?.log === null) return;
  const target = { release: manifest.version, from: oldest, to: newest, migrations: String(applied.length) };
  await client.query(
    `INSERT INTO ${pg.escapeIdentifier(schema)}.${AUDIT_LOG_TABLE} (workspace_id, method, target, changed_fields)
     VALUES ('', 'Schema/Migrate', $1, '{}')`,
    [target],
  );
}

async function withKnex<T>(options: MigrateOptions, work: (migrator: Knex.Migrator) => Promise<T>): Promise<T> {
  const source: Knex.MigrationSource<Migration> = {
    getMigrations: () => Promise.resolve([...options.migrations]),
    getMigrationName: (migration) => migration.name,
    getMigration: (migration) => Promise.resolve(migration),
  };
  // Not imported at the top: services load this file at start, and knex would take a tenth of their load time.
  const { default: knex } = await import("knex");
  const instance = knex({
    client: "pg",
    connection: connectionConfig(options),
    pool: {
      min: 0,
      max: 1,
      afterCreate: (connection: pg.Client, done: (error: unknown) => void) => {
        connection
          .query(`SET lock_timeout = '${LOCK_TIMEOUT}'; SET statement_timeout = 0`)
          .then(() => done(null), done);
      },
    },
    migrations: { migrationSource: source, schemaName: options.schema, tableName: MIGRATIONS_TABLE },
  });
  try {
    return await work(instance.migrate);
  } finally {
    await instance.destroy();
  }
}
