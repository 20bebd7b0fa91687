import { setTimeout as sleep } from "node:timers/promises";
import type { Knex } from "knex";
import pg from "pg";
import manifest from "../../package.json" with { type: "json" };
import { compareVersions } from "./compare-versions.ts";
import { readDatabaseName } from "./database-name.ts";
import { startSequencesOfShard } from "./identity-start.ts";
import type { RoleOwner } from "./role-owner.ts";
import { createScramVerifier } from "./scram-verifier.ts";
import {
  assertMayDefineRole,
  grantAccess,
  listRoleChecks,
  prepareRole,
  type RoleTimeouts,
  withRemedy,
} from "./service-role.ts";
import { assertShardNumber, setShardNumber } from "./shard-number.ts";

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
  /** Set if `url` leads to a logical shard: its number, and the name of the sharded database, to which the role of all shards belongs. */
  shard?: { number: number; database: string };
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
const AUDIT_LOG_TABLE = "audit_log";
const OLDEST_POSTGRES = 15;
/** Short, because new traffic queues behind a migration that waits for a lock. */
const LOCK_TIMEOUT = "2s";
const LOCK_KEY = "hashtext('parley.migrate')";
const LOCK_POLL_MS = 100;
const SESSION_CHECK_ATTEMPTS = 5;
const KEEPALIVE_DELAY_MS = 10_000;

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

/** `limits` are pg's timeouts. */
export function createClient(
  options: MigrateOptions,
  limits: Pick<pg.ClientConfig, "connectionTimeoutMillis" | "query_timeout"> = {},
): pg.Client {
  return new pg.Client({ ...connectionConfig(options), ...limits });
}

/**
 * Runs `work` while holding the lock. `assertLocked` throws if the lock's connection was lost. `work` must call `assertLocked` before each
 * change on another connection.
 */
async function withLock<T>(
  options: MigrateOptions,
  work: (client: pg.Client, assertLocked: () => void) => Promise<T>,
): Promise<T> {
  const client = createClient(options);
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
    await assertHasOwnSession(client, options);
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
    // A pooler in session mode may keep the session, and with it the lock.
    await client.query(`SELECT pg_advisory_unlock(${LOCK_KEY})`).catch(() => undefined);
    await client.end();
  }
}

/**
 * Throws if a pooler in transaction mode gives both connections the same server process in turn. The advisory lock would then belong to a
 * session that other clients use. Checks several times, because a busy pooler may give them different processes by chance.
 */
async function assertHasOwnSession(client: pg.Client, options: MigrateOptions): Promise<void> {
  const other = createClient(options);
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
  const { host, port, user } = client;
  const remedy =
    options.shard === undefined
      ? "connect the migrations to the PostgreSQL server itself (chart: migrations.database.host)"
      : `set the router's session mode for ${user}, or connect the migrations to a router in session mode (chart: migrations.database.host)`;
  throw new Error(`${host}:${port} is a pooler in transaction mode; ${remedy}`);
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
  const tryLock = `SELECT pg_try_advisory_lock(${LOCK_KEY}) AS locked`;
  while (!(await client.query<{ locked: boolean }>(tryLock)).rows[0]?.locked) await sleep(LOCK_POLL_MS);
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

/**
 * Returns the newest applied migration that this version does not know, if there is one. Throws if this version does not run on the schema.
 * Must run before knex's latest(), which refuses every unknown migration.
 */
async function findNewerMigration(
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
