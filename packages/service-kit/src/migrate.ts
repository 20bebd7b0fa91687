import { setTimeout as sleep } from "node:timers/promises";
import knex, { type Knex } from "knex";
import pg from "pg";
import manifest from "../package.json" with { type: "json" };
import { scramVerifier } from "./scram-verifier.ts";
import { grantAccess, prepareRole, withRemedy } from "./service-role.ts";

export type { Knex };

export type Migration = {
  name: string;
  up: (knex: Knex) => Promise<void>;
  down: (knex: Knex) => Promise<void>;
  /**
   * Without `transaction: false` a migration is one transaction, and should touch one table that has traffic: while it holds one and waits
   * for another it could wait in a circle with the traffic. With it each statement commits by itself, and must bear being cut short and
   * run again.
   */
  config?: { transaction: boolean };
  /** Of a contraction: the oldest version of Parley that runs on the schema after it, such as `0.3.0`. An older migrator refuses the schema. */
  oldestVersion?: string;
};

export type MigrateOptions = {
  /** URL of a role that may create schemas in the database and, with `rolePassword`, roles. */
  url: string;
  schema: string;
  /** The service's login role. */
  role: string;
  /** The role's password; without one the role must exist with its timeouts, and is left as it is. */
  rolePassword?: string;
  migrations: readonly Migration[];
};

export type MigrateResult = {
  /** The names of the migrations that were applied. */
  applied: string[];
  /** The newest migration of a schema that a newer, compatible version has migrated; nothing was applied then. */
  newer?: string;
};

const TABLE = "migrations";
/** Bounds how long a migration may wait for a lock that traffic holds, so that it never queues traffic behind itself. */
const LOCK_TIMEOUT = "2s";
const LOCK_POLL_MS = 100;

/**
 * Brings one service's schema to this version: creates the role and the schema where the URL's role may, then applies what is missing. One
 * advisory lock makes two migrators at once safe. Leaves a newer schema as it is, and throws when this version does not run on it.
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const { schema, role, rolePassword } = options;
  const verifier = rolePassword === undefined ? undefined : scramVerifier(rolePassword);
  return locked(options, async (client) => {
    await prepareRole(client, role, verifier);
    await prepareSchema(client, schema);
    return withKnex(options, async (migrator) => {
      const newer = await findNewer(client, migrator, options);
      if (newer !== undefined) return { applied: [], newer };
      const [, applied] = (await migrator.latest({ beforeEach: recordOldestVersion(options, "up") })) as [
        number,
        string[],
      ];
      await grantAccess(client, schema, role);
      return { applied };
    });
  });
}

/** Takes back the newest `steps` migrations. Returns the names taken back. */
export async function rollback(options: MigrateOptions, steps: number): Promise<string[]> {
  return locked(options, () =>
    withKnex(options, async (migrator) => {
      const undone: string[] = [];
      for (let step = 0; step < steps; step++) {
        const [, names] = (await migrator.down({ beforeEach: recordOldestVersion(options, "down") })) as [
          number,
          string[],
        ];
        undone.push(...names);
      }
      return undone;
    }),
  );
}

async function locked<T>(options: MigrateOptions, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: options.url, application_name: `parley-migrate-${options.schema}` });
  await client.connect();
  try {
    await takeLock(client);
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Takes the one lock that serves every schema of the database. It polls: a statement that waited for the lock would hold a snapshot, and an
 * index that the lock's owner builds concurrently would wait for that snapshot for ever.
 */
async function takeLock(client: pg.Client): Promise<void> {
  const ask = "SELECT pg_try_advisory_lock(hashtext('parley.migrate')) AS taken";
  while (!(await client.query<{ taken: boolean }>(ask)).rows[0]?.taken) await sleep(LOCK_POLL_MS);
}

async function prepareSchema(client: pg.Client, schema: string): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_namespace WHERE nspname = $1", [schema]);
  // Asked first, since IF NOT EXISTS is refused to a role that may not create schemas even when there is nothing to create.
  if (rowCount === 0) {
    const [database, admin] = [client.database, client.user].map((name) => pg.escapeIdentifier(name ?? ""));
    await withRemedy(`as the database's owner: GRANT CREATE ON DATABASE ${database} TO ${admin};`, async () => {
      await client.query(`CREATE SCHEMA ${pg.escapeIdentifier(schema)}`);
    });
  }
  // A migrator killed half-way leaves knex's own lock behind; under our lock nobody else can hold it.
  const { rows } = await client.query("SELECT to_regclass($1) AS lock", [`${schema}.${TABLE}_lock`]);
  if (rows[0]?.lock) await client.query(`UPDATE ${pg.escapeIdentifier(schema)}.${TABLE}_lock SET is_locked = 0`);
}

/**
 * Returns the newest migration that this version does not know, if there is one. Throws when this version does not run on the schema. Knex
 * itself would refuse any unknown migration, and with its check off would apply what is missing on top of it.
 */
async function findNewer(
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
      `schema is newer than this version (${newest}) and needs version ${oldest} or newer; this is ${manifest.version}`,
    );
  }
  return newest;
}

/** Writes, in the migration's own transaction, which version is the oldest that runs on the schema: what an older migrator reads. */
function recordOldestVersion({ schema, migrations }: MigrateOptions, direction: "up" | "down") {
  return async (connection: Knex, [current]: unknown[]): Promise<void> => {
    const index = migrations.indexOf(current as Migration);
    if (migrations[index]?.oldestVersion === undefined) return;
    const applied = migrations.slice(0, direction === "up" ? index + 1 : index);
    const oldest = applied.findLast(({ oldestVersion }) => oldestVersion !== undefined)?.oldestVersion;
    const comment = oldest === undefined ? "NULL" : pg.escapeLiteral(`needs Parley ${oldest} or newer`);
    await connection.raw(`COMMENT ON TABLE ${pg.escapeIdentifier(schema)}.${TABLE} IS ${comment}`);
  };
}

async function readOldestVersion(client: pg.Client, schema: string): Promise<string | undefined> {
  const { rows } = await client.query<{ comment: string | null }>(
    "SELECT obj_description($1::regclass, 'pg_class') AS comment",
    [`${schema}.${TABLE}`],
  );
  return /^needs Parley (\S+) or newer$/.exec(rows[0]?.comment ?? "")?.[1];
}

/** Negative when `a` is older than `b`. */
function compareVersions(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

async function withKnex<T>(options: MigrateOptions, work: (migrator: Knex.Migrator) => Promise<T>): Promise<T> {
  const source: Knex.MigrationSource<Migration> = {
    getMigrations: () => Promise.resolve([...options.migrations]),
    getMigrationName: (migration) => migration.name,
    getMigration: (migration) => Promise.resolve(migration),
  };
  const instance = knex({
    client: "pg",
    connection: { connectionString: options.url, application_name: `parley-migrate-${options.schema}` },
    pool: {
      min: 0,
      max: 1,
      afterCreate: (connection: pg.Client, done: (error: unknown) => void) => {
        connection
          .query(`SET lock_timeout = '${LOCK_TIMEOUT}'; SET statement_timeout = 0`)
          .then(() => done(null), done);
      },
    },
    migrations: { migrationSource: source, schemaName: options.schema, tableName: TABLE },
  });
  try {
    return await work(instance.migrate);
  } finally {
    await instance.destroy();
  }
}
