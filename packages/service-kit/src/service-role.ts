import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type Queryable, sqlState } from "./database.ts";
import type { Logger } from "./logger.ts";

/** Bounds a service's statements and transactions. Set on the role, not on the session: PgBouncer shares sessions. */
const TIMEOUTS = { statement_timeout: "10s", idle_in_transaction_session_timeout: "15s" };

const ROLE_ATTEMPTS = 20;
const ROLE_RETRY_MS = 200;

/**
 * Creates the service's login role with a password and its timeouts, or sets them on the role that exists. Without a verifier the role must
 * exist and have its timeouts. Throws an error with the statement to run when the administrator may not do it.
 */
export async function prepareRole(client: pg.Client, role: string, verifier: string | undefined): Promise<void> {
  if (verifier === undefined) await assertRoleIsComplete(client, role);
  else await retryRoleConflicts(() => defineRole(client, role, verifier));
}

async function defineRole(client: pg.Client, role: string, verifier: string): Promise<void> {
  const name = pg.escapeIdentifier(role);
  // The attributes are left alone: to name SUPERUSER, even to refuse it, takes a superuser.
  const verb = (await assertUnprivileged(client, role)) ? "ALTER" : "CREATE";
  await withRemedy(await remedyOf(client, role), async () => {
    await client.query(`${verb} ROLE ${name} LOGIN PASSWORD ${pg.escapeLiteral(verifier)}`);
    for (const statement of timeoutStatements(role, Object.keys(TIMEOUTS))) await client.query(statement);
  });
}

/** What lets the administrator create or alter a role. From PostgreSQL 16 on CREATEROLE is not enough for a role that another has created. */
async function remedyOf(client: pg.Client, role: string): Promise<string> {
  const { rows } = await client.query("SELECT FROM pg_roles WHERE rolname = current_user AND rolcreaterole");
  const admin = pg.escapeIdentifier(client.user ?? "");
  return rows.length === 0
    ? `as a superuser: ALTER ROLE ${admin} CREATEROLE;`
    : `as a superuser, or as the role that created it: GRANT ${pg.escapeIdentifier(role)} TO ${admin} WITH ADMIN OPTION;`;
}

async function assertRoleIsComplete(client: pg.Client, role: string): Promise<void> {
  if (!(await assertUnprivileged(client, role))) {
    const statements = [
      `CREATE ROLE ${pg.escapeIdentifier(role)} LOGIN PASSWORD '…';`,
      ...timeoutStatements(role, Object.keys(TIMEOUTS)),
    ];
    throw new Error(`role ${role} does not exist; run as a role that may create roles: ${statements.join(" ")}`);
  }
  const missing = await missingTimeouts(client, role);
  if (missing.length > 0) {
    const statements = timeoutStatements(role, missing).join(" ");
    throw new Error(`role ${role} has no ${missing.join(" and no ")}; run as a role that may alter it: ${statements}`);
  }
}

/** Returns whether the role exists. Throws when it has attributes that let it leave its own schema. */
async function assertUnprivileged(client: pg.Client, role: string): Promise<boolean> {
  const { rows } = await client.query<{ attributes: string[] }>(
    `SELECT array_remove(ARRAY[CASE WHEN rolsuper THEN 'SUPERUSER' END, CASE WHEN rolcreaterole THEN 'CREATEROLE' END,
                               CASE WHEN rolcreatedb THEN 'CREATEDB' END], NULL) AS attributes
     FROM pg_roles WHERE rolname = $1`,
    [role],
  );
  const attributes = rows[0]?.attributes ?? [];
  if (attributes.length > 0) {
    const without = attributes.map((attribute) => `NO${attribute}`).join(" ");
    throw new Error(
      `role ${role} has ${attributes.join(", ")}, which a service's role must not have; ` +
        `run as a role that may alter it: ALTER ROLE ${pg.escapeIdentifier(role)} ${without};`,
    );
  }
  return rows.length > 0;
}

/** The timeouts that are set neither for the role nor for the database, or are set to 0. */
async function missingTimeouts(client: pg.Client, role: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT name FROM unnest($2::text[]) AS name
     WHERE NOT EXISTS (
       SELECT FROM pg_db_role_setting, unnest(setconfig) AS setting
       WHERE setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = $1))
         AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
         AND setting ~ ('^' || name || '=[0-9.]*[1-9]'))`,
    [role, Object.keys(TIMEOUTS)],
  );
  return rows.map(({ name }) => name);
}

function timeoutStatements(role: string, names: readonly string[]): string[] {
  return Object.entries(TIMEOUTS)
    .filter(([name]) => names.includes(name))
    .map(([name, value]) => `ALTER ROLE ${pg.escapeIdentifier(role)} SET ${name} = '${value}';`);
}

/**
 * Lets the service read and write its own rows and change nothing else. Grants what is missing; throws an error with the statements to run
 * when the administrator may not grant it, which PostgreSQL itself reports with a mere warning where some other privilege is held.
 */
export async function grantAccess(client: pg.Client, schema: string, role: string): Promise<void> {
  const database = pg.escapeIdentifier(client.database ?? "");
  // Granted even where PUBLIC has it, so that it is kept when PUBLIC loses it.
  const connect = `GRANT CONNECT ON DATABASE ${database} TO ${pg.escapeIdentifier(role)};`;
  for (const statement of [connect, ...(await missingGrants(client, schema, role))]) {
    await client.query(statement).catch((error: unknown) => {
      if (!isRefused(error)) throw error;
    });
  }
  const missing = await missingGrants(client, schema, role);
  if (missing.length === 0) return;
  throw new Error(
    `role ${role} lacks privileges that ${client.user} may not grant; run as the owner or a superuser: ${missing.join(" ")}`,
  );
}

/** The statements that give the role what it needs and lacks. The migrations' own tables are only read. */
async function missingGrants(client: pg.Client, schema: string, role: string): Promise<string[]> {
  const { rows } = await client.query<{ statement: string }>(
    `WITH relation AS (
       SELECT oid, relkind, format('%s.%I', relnamespace::regnamespace, relname) AS name,
              CASE WHEN relname IN ('migrations', 'migrations_lock') THEN ARRAY['SELECT']
                   ELSE ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] END AS privileges
       FROM pg_class WHERE relnamespace = $1::text::regnamespace
     )
     SELECT format('GRANT CONNECT ON DATABASE %I TO %I;', current_database(), $2::name) AS statement
     WHERE NOT has_database_privilege($2::name, current_database(), 'CONNECT')
     UNION ALL
     SELECT format('GRANT USAGE ON SCHEMA %I TO %I;', $1::text, $2::name)
     WHERE NOT has_schema_privilege($2::name, $1::text, 'USAGE')
     UNION ALL
     SELECT format('GRANT %s ON %s TO %I;', array_to_string(privileges, ', '), name, $2::name) FROM relation
     WHERE relkind IN ('r', 'p', 'v')
       AND (SELECT NOT bool_and(has_table_privilege($2::name, oid, privilege)) FROM unnest(privileges) AS privilege)
     UNION ALL
     SELECT format('GRANT USAGE ON SEQUENCE %s TO %I;', name, $2::name) FROM relation
     -- CASE, since the conditions of a WHERE are checked in any order.
     WHERE CASE WHEN relkind = 'S' THEN NOT has_sequence_privilege($2::name, oid, 'USAGE') END`,
    [schema, role],
  );
  return rows.map(({ statement }) => statement);
}

/** Runs `work`; when PostgreSQL refuses it for want of privileges, the error says what to run. */
export async function withRemedy(remedy: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isRefused(error)) throw error;
    throw new Error(`${error.message}; run ${remedy}`, { cause: error });
  }
}

function isRefused(error: unknown): error is pg.DatabaseError {
  return sqlState(error) === "42501";
}

/** Roles belong to the whole server, where the migration of another database may change the same one at the same time; no lock spans databases. */
async function retryRoleConflicts(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      if (attempt === ROLE_ATTEMPTS || !isRoleConflict(error)) throw error;
      await sleep(Math.random() * ROLE_RETRY_MS);
    }
  }
}

/** "Tuple concurrently updated", "duplicate key" in the catalog, "role already exists". */
function isRoleConflict(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  return error.code === "23505" || error.code === "42710" || /^tuple concurrently /.test(error.message);
}

/**
 * Logs an error when a service's sessions have no timeouts, as when its role was created by hand. Never rejects: without a database there is
 * nothing to check, and readiness reports that.
 */
export async function checkTimeouts(database: Queryable, log: Logger): Promise<void> {
  const names = Object.keys(TIMEOUTS);
  try {
    const { rows } = await database.query<{ role: string; name: string }>(
      "SELECT current_user AS role, name FROM pg_settings WHERE name = ANY ($1) AND setting = '0'",
      [names],
    );
    for (const { role, name } of rows)
      log.error({ role, run: timeoutStatements(role, [name])[0] }, `${name} is not set`);
  } catch {
    // A database that does not answer yet.
  }
}
