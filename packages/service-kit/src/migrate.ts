import { setTimeout as sleep } from "node:timers/promises";
import knex, { type Knex } from "knex";
import pg from "pg";

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
};

export type MigrateOptions = {
  /** URL of a role that may create schemas and roles, or of the service's own role once both exist. */
  url: string;
  schema: string;
  /** The service's login role. */
  role: string;
  /** The role's password; without one the role must exist, and is left as it is. */
  rolePassword?: string;
  migrations: readonly Migration[];
};

const TABLE = "migrations";
/** Bounds how long a migration may wait for a lock that traffic holds, so that it never queues traffic behind itself. */
const LOCK_TIMEOUT = "2s";
const LOCK_POLL_MS = 100;
const ROLE_ATTEMPTS = 20;
const ROLE_RETRY_MS = 200;

/**
 * Brings one service's schema to its newest version: creates the role and the schema where the URL's role may, then applies what
 * is missing, all under one advisory lock, so that two at once are safe. Returns the names applied.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  return locked(options, async (client) => {
    await prepare(client, options);
    return withKnex(options, async (migrator) => {
      const [, applied] = (await migrator.latest()) as [number, string[]];
      await grant(client, options);
      return applied;
    });
  });
}

/** Takes back the newest `steps` migrations. Returns the names taken back. */
export async function rollback(options: MigrateOptions, steps: number): Promise<string[]> {
  return locked(options, () =>
    withKnex(options, async (migrator) => {
      const undone: string[] = [];
      for (let step = 0; step < steps; step++) {
        const [, names] = (await migrator.down()) as [number, string[]];
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
 * One lock serves every schema of the database. It is asked for again and again: whoever waits inside a statement holds a snapshot, and
 * an index that the lock's owner builds concurrently would wait for that for ever.
 */
async function takeLock(client: pg.Client): Promise<void> {
  const ask = "SELECT pg_try_advisory_lock(hashtext('parley.migrate')) AS taken";
  while (!(await client.query<{ taken: boolean }>(ask)).rows[0]?.taken) await sleep(LOCK_POLL_MS);
}

async function prepare(client: pg.Client, { schema, role, rolePassword }: MigrateOptions): Promise<void> {
  if (rolePassword !== undefined) {
    await besideOthers(() => defineRole(client, role, rolePassword));
    const database = pg.escapeIdentifier(client.database ?? "");
    await client.query(`GRANT CONNECT ON DATABASE ${database} TO ${pg.escapeIdentifier(role)}`);
  }
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${pg.escapeIdentifier(schema)}`);
  // A migrator killed half-way leaves knex's own lock behind; under our lock nobody else can hold it.
  const { rows } = await client.query("SELECT to_regclass($1) AS lock", [`${schema}.${TABLE}_lock`]);
  if (rows[0]?.lock) await client.query(`UPDATE ${pg.escapeIdentifier(schema)}.${TABLE}_lock SET is_locked = 0`);
}

async function defineRole(client: pg.Client, role: string, password: string): Promise<void> {
  const name = pg.escapeIdentifier(role);
  const { rowCount } = await client.query("SELECT 1 FROM pg_roles WHERE rolname = $1", [role]);
  const verb = rowCount === 0 ? "CREATE" : "ALTER";
  await client.query(
    `${verb} ROLE ${name} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD ${pg.escapeLiteral(password)}`,
  );
  // Set on the role, not on the session: PgBouncer shares sessions.
  await client.query(`ALTER ROLE ${name} SET statement_timeout = '10s'`);
  await client.query(`ALTER ROLE ${name} SET idle_in_transaction_session_timeout = '15s'`);
}

/** Roles belong to the whole server, where the migration of another database may be at the same one this moment; no lock reaches that far. */
async function besideOthers(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      if (attempt === ROLE_ATTEMPTS || !isRaceForRole(error)) throw error;
      await sleep(Math.random() * ROLE_RETRY_MS);
    }
  }
}

/** "Tuple concurrently updated", "duplicate key" in the catalog, "role already exists". */
function isRaceForRole(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  return error.code === "23505" || error.code === "42710" || /^tuple concurrently /.test(error.message);
}

/** The service may read and write its own rows, and change nothing else: not its tables, not another's schema. */
async function grant(client: pg.Client, { schema, role }: MigrateOptions): Promise<void> {
  const [to, within] = [pg.escapeIdentifier(role), pg.escapeIdentifier(schema)];
  await client.query(`GRANT USAGE ON SCHEMA ${within} TO ${to}`);
  await client.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${within} TO ${to}`);
  await client.query(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${within} TO ${to}`);
  await client.query(`REVOKE INSERT, UPDATE, DELETE ON ${within}.${TABLE}, ${within}.${TABLE}_lock FROM ${to}`);
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
