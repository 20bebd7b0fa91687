import { setTimeout as sleep } from "node:timers/promises";
import type { Knex } from "knex";
import pg from "pg";
import manifest from "../../package.json" with { type: "json" };
import { compareVersions } from "./compare-versions.ts";
import { createScramVerifier } from "./scram-verifier.ts";
import { grantAccess, prepareRole, type RoleTimeouts, withRemedy } from "./service-role.ts";

export type { Knex };

export type Migration = {
  name: string;
  up: (knex: Knex) => Promise<void>;
  down: (knex: Knex) => Promise<void>;
  /**
   * By default a migration is one transaction. It should lock only one table with traffic, because a second lock could deadlock with the
   * traffic. With `transaction: false`, each statement commits separately, so a retry may run a committed statement again.
   */
  config?: { transaction: boolean };
  /**
   * Set if the migration removes something that older versions use: the oldest version of Parley that runs on the new schema, such as
   * `0.3.0`. The migrate command of older versions then fails.
   */
  oldestVersion?: string;
};

export type MigrateOptions = {
  /** Connects as an administrator, who may create schemas. With `rolePassword`, the administrator must also be allowed to create roles. */
  url: string;
  schema: string;
  /** The service's login role. */
  role: string;
  /** Without a password, the role stays unchanged. It must then exist and have the timeouts that prepareRole requires. */
  rolePassword?: string;
  /**
   * The installation's name, such as `chat/parley`; may be empty. The role is marked with it and with the database, and a role of another
   * installation or database is refused. If undefined, several databases may share the role, and it is neither marked nor checked.
   */
  installation?: string;
  /** Timeouts in addition to those of every service's role. */
  roleTimeouts?: RoleTimeouts;
  /** The names of tables whose rows the role may read and insert, but neither update nor delete. */
  appendOnlyTables?: readonly string[];
  migrations: readonly Migration[];
};

export type MigrateResult = {
  /** The names of the applied migrations. */
  applied: string[];
  /** The schema's newest migration, if a newer, compatible version has applied it. `applied` is then empty. */
  newerMigration?: string;
};

const MIGRATIONS_TABLE = "migrations";
/** The audit log. Not every schema has this table. */
const CHANGES_TABLE = "changes";
/** Short, because new traffic queues behind a migration that waits for a lock. */
const LOCK_TIMEOUT = "2s";
const LOCK_POLL_MS = 100;
const SESSION_CHECK_ATTEMPTS = 5;
const KEEPALIVE_DELAY_MS = 10_000;

/**
 * Migrates one service's schema to this version: creates the role and the schema, then applies the missing migrations. Concurrent calls are
 * safe. If the schema is newer than this version, sets the role's password and timeouts, applies nothing, and throws if this version does
 * not run on that schema.
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const { schema, role, rolePassword, installation, roleTimeouts, appendOnlyTables } = options;
  const scramVerifier = rolePassword === undefined ? undefined : createScramVerifier(rolePassword);
  return withLock(options, async (client, assertLocked) => {
    const owner = installation === undefined ? undefined : { database: client.database ?? "", installation };
    await prepareRole(client, role, scramVerifier, roleTimeouts, owner);
    await prepareSchema(client, schema);
    return withKnex(options, async (migrator) => {
      const newerMigration = await findNewerMigration(client, migrator, options);
      if (newerMigration !== undefined) return { applied: [], newerMigration };
      const [, applied] = (await migrator.latest({ beforeEach: createMigrationHook(assertLocked, options, "up") })) as [
        number,
        string[],
      ];
      await grantAccess(client, schema, role, [...(appendOnlyTables ?? []), CHANGES_TABLE]);
      return { applied };
    });
  });
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

/**
 * Enables keepalives: while a long migration runs, a firewall or load balancer would otherwise drop the idle connection that holds the lock,
 * and the server would keep the lock.
 */
function connectionConfig({ url, schema }: MigrateOptions) {
  return {
    connectionString: url,
    application_name: `parley-migrate-${schema}`,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_DELAY_MS,
  };
}

/**
 * Runs `work` while holding the lock. `assertLocked` throws if the lock's connection was lost. `work` must call `assertLocked` before each
 * change on another connection.
 */
async function withLock<T>(
  options: MigrateOptions,
  work: (client: pg.Client, assertLocked: () => void) => Promise<T>,
): Promise<T> {
  const config = connectionConfig(options);
  const client = new pg.Client(config);
  let connectionError: Error | undefined;
  const assertLocked = () => {
    if (connectionError !== undefined) throw connectionError;
  };
  // Without a listener, the event would end the process with a stack trace.
  client.on("error", (error) => {
    connectionError ??= error;
  });
  await client.connect();
  try {
    await assertHasOwnSession(client, new pg.Client(config));
    await acquireLock(client);
    return await work(client, assertLocked);
  } catch (error) {
    if (connectionError === undefined) throw error;
    throw new Error(
      `the connection that holds the migrations' lock was lost (${connectionError.message}); ` +
        "check that nothing ends idle connections to the database, and run the migrations again",
      { cause: error },
    );
  } finally {
    await client.end();
  }
}

/**
 * Throws if a pooler in transaction mode gives both connections the same server process in turn. The advisory lock would then belong to a
 * session that other clients use. Checks several times, because a busy pooler may give them different processes by chance.
 */
async function assertHasOwnSession(client: pg.Client, other: pg.Client): Promise<void> {
  const readProcess = async (connection: pg.Client) => {
    const { rows } = await connection.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    return rows[0]?.pid;
  };
  // The next statement on a lost connection fails. Without a listener, the event would end the process with a stack trace.
  other.on("error", () => undefined);
  await other.connect();
  try {
    const [own, others] = [new Set(), new Set()];
    for (let attempt = 0; attempt < SESSION_CHECK_ATTEMPTS; attempt++) {
      own.add(await readProcess(client));
      others.add(await readProcess(other));
    }
    if (own.isDisjointFrom(others) || (await isSingleProcess(client))) return;
  } finally {
    await other.end();
  }
  const { host, port } = client;
  throw new Error(
    `${host}:${port} is a pooler in transaction mode; connect the migrations to the PostgreSQL server itself (chart: migrations.database.host)`,
  );
}

/** Recognizes servers like PGlite, whose connections all share one session. PostgreSQL always has more than one process. */
async function isSingleProcess(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ processes: string }>("SELECT count(*) AS processes FROM pg_stat_activity");
  return Number(rows[0]?.processes) <= 1;
}

/**
 * Takes the advisory lock that all services of the database share. Polls, because a statement that waits for the lock would hold a snapshot.
 * The lock's holder may run CREATE INDEX CONCURRENTLY, which waits for older snapshots: a deadlock.
 */
async function acquireLock(client: pg.Client): Promise<void> {
  const tryLock = "SELECT pg_try_advisory_lock(hashtext('parley.migrate')) AS locked";
  while (!(await client.query<{ locked: boolean }>(tryLock)).rows[0]?.locked) await sleep(LOCK_POLL_MS);
}

async function prepareSchema(client: pg.Client, schema: string): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_namespace WHERE nspname = $1", [schema]);
  // Checked first, because CREATE SCHEMA IF NOT EXISTS needs the privilege even if the schema exists.
  if (rowCount === 0) {
    const [database, admin] = [client.database, client.user].map((name) => pg.escapeIdentifier(name ?? ""));
    await withRemedy(`as the database's owner: GRANT CREATE ON DATABASE ${database} TO ${admin};`, async () => {
      await client.query(`CREATE SCHEMA ${pg.escapeIdentifier(schema)}`);
    });
  }
  // A killed run of migrate() leaves knex's lock row set. No other run can hold it, because we hold the advisory lock.
  const { rows } = await client.query("SELECT to_regclass($1) AS lock", [`${schema}.${MIGRATIONS_TABLE}_lock`]);
  if (rows[0]?.lock)
    await client.query(`UPDATE ${pg.escapeIdentifier(schema)}.${MIGRATIONS_TABLE}_lock SET is_locked = 0`);
}

/**
 * Returns the newest applied migration that this version does not know, if there is one. Throws if this version does not run on the schema.
 * Must run before knex's latest(), which refuses every unknown migration.
 */
async function findNewerMigration(
  client: pg.Client,
  migrator: Knex.Migrator,
  { schema, migrations }: MigrateOptions,
): Promise<string | undefined> {
  const [completed, missing] = (await migrator.list({ disableMigrationsListValidation: true })) as [
    { name: string }[],
    Migration[],
  ];
  const known = new Set(migrations.map(({ name }) => name));
  const newest = completed.findLast(({ name }) => !known.has(name))?.name;
  if (newest === undefined) return undefined;
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

/**
 * Returns a hook for knex to run before each migration, in the migration's transaction if it has one. The hook throws if the lock's
 * connection is lost. It stores the oldest version that runs on the schema in a comment on the migrations table; older versions read the
 * comment with readOldestVersion.
 */
function createMigrationHook(
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
