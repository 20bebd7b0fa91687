import pg from "pg";
import type { Logger } from "../process/logger.ts";
import { withRetry } from "../process/retry.ts";
import { type Queryable, sqlState } from "./database.ts";
import { readDatabaseName } from "./database-name.ts";
import { assertRoleIsOwn, buildMarkStatement, type RoleOwner } from "./role-owner.ts";

/** Limits a service's statements and transactions. Set on the role, because PgBouncer shares sessions between clients. */
const TIMEOUTS = { statement_timeout: "10s", idle_in_transaction_session_timeout: "15s" };

/** Timeouts of a role by setting name, such as `{ lock_timeout: "2s" }`. A service adds its own to TIMEOUTS. */
export type RoleTimeouts = Readonly<Record<string, string>>;

const ROLE_ATTEMPTS = 20;
const MAX_ROLE_RETRY_DELAY_MS = 200;

/**
 * Creates the service's login role with its password and timeouts, or sets them on the existing role. `scramVerifier` is what PostgreSQL stores
 * instead of the password. Without `scramVerifier`, changes nothing, and throws if the role is missing or lacks one of TIMEOUTS;
 * logMissingRoleTimeouts also checks `timeouts`. If the administrator lacks a privilege, throws an error with the statement to run. With `owner`,
 * marks the role, and throws if it belongs to another owner.
 */
export async function prepareRole(
  client: pg.Client,
  role: string,
  scramVerifier: string | undefined,
  timeouts: RoleTimeouts = {},
  owner?: RoleOwner,
): Promise<void> {
  for (const check of listRoleChecks(client, role, scramVerifier !== undefined, timeouts, owner)) await check();
  if (scramVerifier !== undefined)
    // Retries when a migration of another database changes the same role. Roles belong to the whole server, and no lock spans databases.
    await withRetry(() => defineRole(client, role, scramVerifier, timeouts, owner), {
      canRetry: (error, attempts) => attempts < ROLE_ATTEMPTS && isRoleConflict(error),
      delayMs: () => Math.random() * MAX_ROLE_RETRY_DELAY_MS,
    });
}

/**
 * Returns the checks that must pass before the role is prepared. Each throws if it finds a problem. `willDefine` is whether prepareRole gets a
 * password for the role. See prepareRole for the other parameters.
 */
export function listRoleChecks(
  client: pg.Client,
  role: string,
  willDefine: boolean,
  timeouts: RoleTimeouts = {},
  owner?: RoleOwner,
): (() => Promise<void>)[] {
  return [
    () => assertRoleIsRestricted(client, role),
    async () => {
      if (owner !== undefined) await assertRoleIsOwn(client, role, owner, { mustBeUnused: willDefine });
    },
    async () => {
      if (!willDefine) await assertRoleIsComplete(client, role, timeouts);
    },
  ];
}

async function defineRole(
  client: pg.Client,
  role: string,
  scramVerifier: string,
  timeouts: RoleTimeouts,
  owner: RoleOwner | undefined,
): Promise<void> {
  const name = pg.escapeIdentifier(role);
  const verb = (await roleExists(client, role)) ? "ALTER" : "CREATE";
  const remedy = await buildRoleRemedy(client, role);
  await client.query("BEGIN");
  try {
    await withRemedy(remedy, async () => {
      await client.query(`${verb} ROLE ${name} LOGIN PASSWORD ${pg.escapeLiteral(scramVerifier)}`);
      for (const statement of buildTimeoutStatements(role, { ...TIMEOUTS, ...timeouts })) await client.query(statement);
      if (owner === undefined) return;
      // Checked again, because the migration of another database may have marked the role since. ALTER ROLE locks the role until COMMIT.
      await assertRoleIsOwn(client, role, owner, { mustBeUnused: true });
      await client.query(await buildMarkStatement(client, role, owner));
    });
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
}

/**
 * Returns the remedy for an administrator who may not create or alter the role. Since PostgreSQL 16, CREATEROLE does not suffice to alter a role
 * that another role created.
 */
async function buildRoleRemedy(client: pg.Client, role: string): Promise<string> {
  const { rows } = await client.query("SELECT FROM pg_roles WHERE rolname = current_user AND rolcreaterole");
  const admin = pg.escapeIdentifier(client.user ?? "");
  return rows.length === 0
    ? `as a superuser: ALTER ROLE ${admin} CREATEROLE;`
    : `as a superuser, or as the role that created ${role}: GRANT ${pg.escapeIdentifier(role)} TO ${admin} WITH ADMIN OPTION;`;
}

/** Throws if PostgreSQL would refuse to create or alter the role. */
export async function assertMayDefineRole(client: pg.Client, role: string): Promise<void> {
  const { rows } = await client.query<{ exists: boolean; may_create: boolean; may_alter: boolean }>(
    `SELECT r.oid IS NOT NULL AS exists, a.rolsuper OR a.rolcreaterole AS may_create,
            a.rolsuper OR a.rolcreaterole AND (
              current_setting('server_version_num')::int < 160000 OR pg_has_role(a.oid, r.oid, 'MEMBER WITH ADMIN OPTION')
            ) AS may_alter
     FROM pg_roles AS a LEFT JOIN pg_roles AS r ON r.rolname = $1 WHERE a.rolname = current_user`,
    [role],
  );
  const [{ exists, may_create, may_alter } = { exists: false, may_create: true, may_alter: true }] = rows;
  if (exists ? may_alter : may_create) return;
  throw new Error(
    `permission denied to ${exists ? "alter" : "create"} role ${role} (chart: migrations.createRoles); ` +
      `run ${await buildRoleRemedy(client, role)}`,
  );
}

async function assertRoleIsComplete(client: pg.Client, role: string, timeouts: RoleTimeouts): Promise<void> {
  if (!(await roleExists(client, role))) {
    const statements = [
      `CREATE ROLE ${pg.escapeIdentifier(role)} LOGIN PASSWORD '…';`,
      ...buildTimeoutStatements(role, { ...TIMEOUTS, ...timeouts }),
    ];
    throw new Error(`role ${role} does not exist; run as a role that may create roles: ${statements.join(" ")}`);
  }
  const missing = await findMissingTimeouts(client, role);
  if (missing.length > 0) {
    const statements = buildTimeoutStatements(role, pickTimeouts(TIMEOUTS, missing)).join(" ");
    throw new Error(`role ${role} has no ${missing.join(" and no ")}; run as a role that may alter it: ${statements}`);
  }
}

async function roleExists(client: pg.Client, role: string): Promise<boolean> {
  const { rows } = await client.query("SELECT FROM pg_roles WHERE rolname = $1", [role]);
  return rows.length > 0;
}

/**
 * Throws if the role has an attribute that a service's role must not have, such as SUPERUSER. Does not reset the attribute, because PostgreSQL
 * accepts even NOSUPERUSER from superusers only.
 */
async function assertRoleIsRestricted(client: pg.Client, role: string): Promise<void> {
  const { rows } = await client.query<{ attributes: string[] }>(
    `SELECT array_remove(ARRAY[CASE WHEN rolsuper THEN 'SUPERUSER' END, CASE WHEN rolcreaterole THEN 'CREATEROLE' END,
                               CASE WHEN rolcreatedb THEN 'CREATEDB' END, CASE WHEN rolreplication THEN 'REPLICATION' END,
                               CASE WHEN rolbypassrls THEN 'BYPASSRLS' END], NULL) AS attributes
     FROM pg_roles WHERE rolname = $1`,
    [role],
  );
  const attributes = rows[0]?.attributes ?? [];
  if (attributes.length === 0) return;
  const without = attributes.map((attribute) => `NO${attribute}`).join(" ");
  throw new Error(
    `role ${role} has ${attributes.join(", ")}, which a service's role must not have; ` +
      `run as a role that may alter it: ALTER ROLE ${pg.escapeIdentifier(role)} ${without};`,
  );
}

/** Returns the names of those TIMEOUTS whose effective setting for the role in this database is missing or 0. */
async function findMissingTimeouts(client: pg.Client, role: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    // A role's setting takes precedence over a database's, and a setting of the role in the database over both.
    `SELECT name FROM unnest($2::text[]) AS name
     WHERE coalesce((
       SELECT setting FROM pg_db_role_setting, unnest(setconfig) AS setting
       WHERE setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = $1))
         AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
         AND starts_with(setting, name || '=')
       ORDER BY setrole <> 0 DESC, setdatabase <> 0 DESC
       LIMIT 1
     ), '') !~ '=[0-9.]*[1-9]'`,
    [role, Object.keys(TIMEOUTS)],
  );
  return rows.map(({ name }) => name);
}

function buildTimeoutStatements(role: string, timeouts: RoleTimeouts): string[] {
  return Object.entries(timeouts).map(
    ([name, value]) => `ALTER ROLE ${pg.escapeIdentifier(role)} SET ${name} = '${value}';`,
  );
}

function pickTimeouts(timeouts: RoleTimeouts, names: readonly string[]): RoleTimeouts {
  return Object.fromEntries(Object.entries(timeouts).filter(([name]) => names.includes(name)));
}

/**
 * Lets the role read and write rows in `schema`. On append-only tables, grants only SELECT and INSERT, and revokes UPDATE,
 * DELETE and TRUNCATE. If the administrator may not grant or revoke a privilege, throws an error with the statements to run, even where
 * PostgreSQL only sends a warning.
 */
export async function grantAccess(
  client: pg.Client,
  schema: string,
  role: string,
  appendOnlyTables: readonly string[] = [],
): Promise<void> {
  const database = pg.escapeIdentifier(await readDatabaseName(client));
  const findDifferences = async () => [
    ...(await findMissingGrants(client, schema, role, appendOnlyTables)),
    ...(await findExcessGrants(client, schema, role, appendOnlyTables)),
  ];
  // Granted even if PUBLIC has CONNECT, so that the role can still connect after CONNECT is revoked from PUBLIC.
  const connect = `GRANT CONNECT ON DATABASE ${database} TO ${pg.escapeIdentifier(role)};`;
  for (const statement of [connect, ...(await findDifferences())]) {
    await client.query(statement).catch((error: unknown) => {
      if (!isPermissionDenied(error)) throw error;
    });
  }
  const remaining = await findDifferences();
  if (remaining.length === 0) return;
  throw new Error(
    `${client.user} may not correct the privileges of role ${role}; run as the owner or a superuser: ${remaining.join(" ")}`,
  );
}

/** Returns the GRANT statements for the privileges that the role lacks. On knex's own tables, the role needs only SELECT. */
async function findMissingGrants(
  client: pg.Client,
  schema: string,
  role: string,
  appendOnlyTables: readonly string[],
): Promise<string[]> {
  const { rows } = await client.query<{ statement: string }>(
    `WITH relation AS (
       SELECT oid, relkind, format('%s.%I', relnamespace::regnamespace, relname) AS name,
              CASE WHEN relname IN ('migrations', 'migrations_lock') THEN ARRAY['SELECT']
                   WHEN relname = ANY ($3) THEN ARRAY['SELECT', 'INSERT']
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
     -- CASE, because WHERE may check its conditions in any order.
     WHERE CASE WHEN relkind = 'S' THEN NOT has_sequence_privilege($2::name, oid, 'USAGE') END
     UNION ALL
     -- PgDog reads the columns of all tables as any of the roles, from a view that shows each role the columns on which it has a privilege. Without
     -- USAGE on the schema, this privilege allows nothing else.
     SELECT format('GRANT REFERENCES (workspace_id) ON %s TO PUBLIC;', name)
     FROM relation JOIN pg_attribute ON attrelid = oid AND attname = 'workspace_id'
     WHERE relkind IN ('r', 'p') AND current_setting('parley.shard', true) <> ''
       AND NOT EXISTS (SELECT FROM aclexplode(attacl) WHERE grantee = 0 AND privilege_type = 'REFERENCES')`,
    [schema, role, appendOnlyTables],
  );
  return rows.map(({ statement }) => statement);
}

/** Returns the REVOKE statements for the role's privileges to update or delete rows of append-only tables. Skips PUBLIC's privileges. */
async function findExcessGrants(
  client: pg.Client,
  schema: string,
  role: string,
  appendOnlyTables: readonly string[],
): Promise<string[]> {
  const { rows } = await client.query<{ statement: string }>(
    `SELECT format('REVOKE UPDATE, DELETE, TRUNCATE ON %s.%I FROM %I;', relnamespace::regnamespace, relname, $2::name) AS statement
     FROM pg_class
     WHERE relnamespace = $1::text::regnamespace AND relname = ANY ($3)
       AND EXISTS (
         SELECT FROM aclexplode(coalesce(relacl, acldefault('r', relowner)))
         WHERE grantee = (SELECT oid FROM pg_roles WHERE rolname = $2) AND privilege_type IN ('UPDATE', 'DELETE', 'TRUNCATE'))`,
    [schema, role, appendOnlyTables],
  );
  return rows.map(({ statement }) => statement);
}

/** If PostgreSQL denies permission to `work`, appends `remedy` to the error message. `remedy` names the role to use and the statement to run. */
export async function withRemedy(remedy: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isPermissionDenied(error)) throw error;
    throw new Error(`${error.message}; run ${remedy}`, { cause: error });
  }
}

function isPermissionDenied(error: unknown): error is pg.DatabaseError {
  return sqlState(error) === "42501";
}

/** Recognizes "tuple concurrently updated", "duplicate key" in the catalog, and "role already exists". */
function isRoleConflict(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  return error.code === "23505" || error.code === "42710" || /^tuple concurrently /.test(error.message);
}

/**
 * Logs an error for each timeout that a service's sessions lack, for example because an administrator created the role by hand. Never
 * throws: readiness reports an unavailable database.
 */
export async function logMissingRoleTimeouts(
  database: Queryable,
  log: Logger,
  timeouts: RoleTimeouts = {},
): Promise<void> {
  const expected = { ...TIMEOUTS, ...timeouts };
  try {
    const { rows } = await database.query<{ role: string; name: string }>(
      "SELECT current_user AS role, name FROM pg_settings WHERE name = ANY ($1) AND setting = '0'",
      [Object.keys(expected)],
    );
    for (const { role, name } of rows)
      log.error(
        { role, setting: name, run: buildTimeoutStatements(role, pickTimeouts(expected, [name]))[0] },
        "role timeout missing",
      );
  } catch {
    // The database is not available yet.
  }
}
